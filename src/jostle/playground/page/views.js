// Camera views and goal images on canvases, with what the agent sees drawn over them.

const LIVE = 0;
const PALETTE = ["#ff5d5d", "#36c275", "#4d8dff", "#f2b632", "#b566ff", "#1fc8d6", "#ff6fb5", "#c58a54", "#ff9340", "#9ad13b"];
const NOTES = {
  particles: "Boxes: what the agent's encoder detected at its last decision.",
  attention: "Thick boxes: what the actor attends to when it chooses its action.",
  matches: "Equal colors: particles of the state and of the goal that look alike. Gray: no match.",
};

export class Views {
  constructor(live, goals) {
    this.folders = [live, goals];
    this.figures = [[], []];
    this.overlay = "none";
    this.inspection = {};
    this.cameras = [];
  }

  setCameras(cameras) {
    if (cameras.join() === this.cameras.join()) return;
    this.cameras = cameras;
    this.folders.forEach((folder, kind) => {
      this.figures[kind] = cameras.map((name) => this.figure(name, kind));
      folder.replaceChildren(...this.figures[kind].map((item) => item.element));
    });
  }

  figure(name, kind) {
    const element = document.createElement("figure");
    const canvas = document.createElement("canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", kind === LIVE ? `Live view of the camera ${name}` : `Goal, seen by the camera ${name}`);
    const caption = document.createElement("figcaption");
    caption.textContent = name;
    element.append(canvas, caption);
    return { element, canvas, image: null, turn: 0 };
  }

  async show(kind, view, blob) {
    const item = this.figures[kind][view];
    if (!item) return;
    const turn = ++item.turn;
    const image = await createImageBitmap(blob);
    if (turn < item.turn) { image.close(); return; } // a newer one is under way
    item.image?.close();
    item.image = image;
    this.draw(kind, view);
  }

  setOverlay(overlay) {
    this.overlay = overlay;
    this.drawAll();
  }

  inspect(inspection) {
    this.inspection = inspection ?? {};
    if (this.overlay === "matches") this.figures[1].forEach((_, view) => this.draw(1, view));
  }

  note() {
    if (this.overlay === "none") return "";
    if (this.inspection.views) return NOTES[this.overlay];
    if (this.overlay === "attention" && this.inspection.attention) return "This agent observes true state: rings on the map show its attention.";
    return "This agent does not look at pictures: there is nothing to draw over them.";
  }

  drawAll() {
    this.figures.forEach((items, kind) => items.forEach((_, view) => this.draw(kind, view)));
  }

  draw(kind, view) {
    const { canvas, image } = this.figures[kind][view];
    if (!image) return;
    const side = Math.round(canvas.clientWidth * Math.min(devicePixelRatio, 2)) || image.width;
    if (canvas.width !== side) canvas.width = canvas.height = side;
    const pen = canvas.getContext("2d");
    pen.imageSmoothingQuality = "high";
    pen.drawImage(image, 0, 0, side, side);
    const index = this.inspection.cameras?.indexOf(this.cameras[view]) ?? -1;
    if (this.overlay === "none" || index < 0) return;
    const boxes = (kind === LIVE ? this.inspection.views : this.inspection.goal_views)?.[index] ?? [];
    if (kind === LIVE) boxes.forEach((box) => this.box(pen, side, box, ...this.style(box)));
    else if (this.overlay === "matches") {
      const used = new Set((this.inspection.views?.[index] ?? []).map((box) => box[5]));
      boxes.filter((box) => used.has(box[4])).forEach((box) => this.box(pen, side, box, color(box[4]), 2));
    }
  }

  style(box) {
    const [weight, match] = [box[4], box[5]];
    if (this.overlay === "matches") return match < 0 ? ["#8b94a3aa", 1] : [color(match), 2.5];
    if (this.overlay === "attention") return [`rgba(255, ${Math.round(190 - 190 * weight)}, 120, ${0.35 + 0.65 * weight})`, 1 + 4 * weight];
    return ["#ff2fb3", 1.8];
  }

  box(pen, side, [x, y, halfWidth, halfHeight], stroke, width) {
    pen.strokeStyle = stroke;
    pen.lineWidth = width * Math.max(1, side / 420);
    pen.strokeRect((x - halfWidth) * side, (y - halfHeight) * side, 2 * halfWidth * side, 2 * halfHeight * side);
  }
}

function color(number) {
  return PALETTE[number % PALETTE.length];
}
