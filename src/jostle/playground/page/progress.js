// Distances, success, and a chart of the critics' values.

const KEPT = 150; // decisions in the chart

export class Progress {
  constructor(list, chip, canvas, note) {
    Object.assign(this, { list, chip, canvas, note });
    this.series = [];
    this.lastStep = -1;
    this.objects = [];
  }

  setScene(scene) {
    const names = scene.objects.filter((object) => object.target || object.present).map((object) => object.color + object.name);
    this.scene = scene;
    if (names.join() === this.objects.join()) return;
    this.objects = names;
    this.rows = scene.objects.filter((object) => object.target).map((object) => this.row(object));
    this.list.replaceChildren(...this.rows.map((row) => row.element));
    this.clear();
  }

  row(object) {
    const element = document.createElement("li");
    const [name, dot, bar, fill, number] = ["span", "span", "span", "i", "span"].map((tag) => document.createElement(tag));
    name.className = "name"; dot.className = "dot"; bar.className = "bar"; number.className = "number";
    dot.style.background = fill.style.background = object.color;
    name.append(dot, object.name);
    bar.append(fill);
    element.append(name, bar, number);
    return { element, fill, number };
  }

  setState(state) {
    if (!this.rows) return;
    const angle = this.scene.goal_type === "yaw";
    this.rows.forEach((row, index) => {
      const distance = state.distances[index] ?? 0;
      row.fill.style.width = `${Math.min(100, 100 * distance / (angle ? Math.PI : 0.3))}%`;
      const text = angle ? `${Math.round(distance * 180 / Math.PI)}°` : `${Math.round(distance * 1000)} mm`;
      row.number.textContent = state.fallen[index] ? "fallen" : state.reached[index] ? `✓ ${text}` : text;
      row.number.classList.toggle("done", state.reached[index]);
    });
    if (this.chip.dataset.success !== String(state.success)) {
      this.chip.dataset.success = String(state.success);
      this.chip.textContent = state.success ? "All at their goals" : "not yet";
      this.chip.className = state.success ? "chip" : "chip quiet";
    }
    if (state.step < this.lastStep) this.clear();
    const values = state.inspection?.values;
    if (values && state.step !== this.lastStep && state.replay === undefined) {
      this.series.push(values);
      if (this.series.length > KEPT) this.series.shift();
      this.draw();
    }
    this.lastStep = state.step;
    const shown = this.series.length > 0;
    this.note.textContent = shown ? "expected reward of each object, by the critics" : "no critics are stored with this agent";
    this.canvas.hidden = !shown;
  }

  clear() {
    this.series = [];
    this.lastStep = -1;
  }

  draw() {
    const ratio = Math.min(devicePixelRatio, 2);
    const [width, height] = [this.canvas.clientWidth * ratio, this.canvas.clientHeight * ratio];
    if (!width || !this.series.length) return;
    if (this.canvas.width !== width) this.canvas.width = width;
    if (this.canvas.height !== height) this.canvas.height = height;
    const pen = this.canvas.getContext("2d");
    const all = this.series.flat();
    const low = Math.min(...all, -0.01);
    const style = getComputedStyle(document.documentElement);
    const y = (value) => 6 * ratio + (height - 12 * ratio) * (value / low);
    pen.clearRect(0, 0, width, height);
    pen.strokeStyle = style.getPropertyValue("--line");
    pen.lineWidth = ratio;
    pen.fillStyle = style.getPropertyValue("--soft");
    pen.font = `${11 * ratio}px system-ui, sans-serif`;
    for (const value of [0, low]) {
      pen.beginPath(); pen.moveTo(34 * ratio, y(value)); pen.lineTo(width, y(value)); pen.stroke();
      pen.fillText(value.toFixed(value ? 1 : 0), 0, y(value) + 4 * ratio);
    }
    const count = this.series[0].length;
    for (let index = 0; index < count; index++) {
      pen.strokeStyle = this.scene.objects[index]?.color ?? style.getPropertyValue("--accent");
      pen.lineWidth = 2 * ratio;
      pen.beginPath();
      this.series.forEach((values, at) => {
        const x = 34 * ratio + (width - 36 * ratio) * at / Math.max(KEPT - 1, 1);
        if (at) pen.lineTo(x, y(values[index])); else pen.moveTo(x, y(values[index]));
      });
      pen.stroke();
    }
  }
}
