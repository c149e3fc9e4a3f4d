// The table seen from above: goals are outlines, objects are filled. Both can be dragged.

import { throttled } from "./socket.js";

const SVG = "http://www.w3.org/2000/svg";
const SCALE = 1000; // millimeters per meter
const MARGIN = 42, ROBOT = 60;

function make(name, attributes = {}, parent = null) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  parent?.append(element);
  return element;
}

// World to map: the robot stands at the top, as in the front camera's view.
function points(outline, [x, y, yaw]) {
  const [cosine, sine] = [Math.cos(yaw), Math.sin(yaw)];
  return outline.map(([a, b]) => [y + sine * a + cosine * b, x + cosine * a - sine * b]
    .map((value) => (value * SCALE).toFixed(1)).join(",")).join(" ");
}

export class TableMap {
  constructor(svg, actions) {
    this.svg = svg;
    this.actions = actions; // moveGoal, push, release, select, remove, steering
    this.front = "goals";
    this.selected = 0;
    this.scene = null;
    this.state = null;
    this.drag = null;
    this.sendGoal = throttled(80, (...args) => actions.moveGoal(...args));
    this.sendPush = throttled(50, (...args) => actions.push(...args));
    svg.addEventListener("pointermove", (event) => this.onMove(event));
    for (const name of ["pointerup", "pointercancel"]) svg.addEventListener(name, (event) => this.onUp(event));
  }

  // Drawing

  setScene(scene) {
    const same = this.scene && JSON.stringify(layout(this.scene)) === JSON.stringify(layout(scene));
    this.scene = scene;
    if (!same) this.build();
    if (this.selected >= scene.objects.length) this.selected = 0;
    if (this.drag?.kind === "goal") this.mark(false);
    this.update();
  }

  setState(state) {
    this.state = state;
    this.update();
  }

  build() {
    const { table, walls, objects } = this.scene;
    const [height, width] = table.map((side) => side * SCALE);
    this.svg.replaceChildren();
    this.svg.setAttribute("viewBox", `${-width / 2 - MARGIN} ${-height / 2 - ROBOT} ${width + 2 * MARGIN} ${height + ROBOT + MARGIN}`);
    make("rect", { class: "robot", x: -60, y: -height / 2 - ROBOT + 8, width: 120, height: ROBOT - 16, rx: 14 }, this.svg);
    make("text", { x: 0, y: -height / 2 - ROBOT / 2 + 6 }, this.svg).textContent = "robot";
    make("rect", { class: "table", x: -width / 2, y: -height / 2, width, height, rx: 10 }, this.svg);
    for (let at = -Math.floor(width / 200) * 100; at < width / 2; at += 100) make("line", { class: "grid", x1: at, x2: at, y1: -height / 2, y2: height / 2 }, this.svg);
    for (let at = -Math.floor(height / 200) * 100; at < height / 2; at += 100) make("line", { class: "grid", y1: at, y2: at, x1: -width / 2, x2: width / 2 }, this.svg);
    for (const wall of walls) make("polygon", { class: "wall", points: points(wall, [0, 0, 0]) }, this.svg);
    this.links = make("g", {}, this.svg);
    this.layers = { goals: make("g", {}, this.svg), objects: make("g", {}, this.svg) };
    this.gripper = make("circle", { class: "gripper", r: 13 }, this.svg);
    this.items = objects.map((object, slot) => this.item(object, slot));
    this.raise(this.front);
  }

  item(object, slot) {
    const goal = object.goal && this.handle("goal", slot, this.layers.goals);
    const body = object.present && this.handle("object", slot, this.layers.objects);
    const parts = (parent, name) => object.outline.map(() => make("polygon", { class: name }, parent));
    const item = { goal, body, link: make("line", { class: "link" }, this.links) };
    if (goal) {
      item.edge = parts(goal, "edge"); item.cover = parts(goal, "cover"); item.tint = parts(goal, "tint");
      item.nose = make("line", { "stroke-width": 4, "stroke-linecap": "round" }, goal);
      item.goalRing = make("circle", { class: "ring", r: 40 }, goal);
    }
    if (body) {
      item.weight = make("circle", { class: "focus-weight", r: 34 }, body);
      item.body_parts = parts(body, "body");
      item.ring = make("circle", { class: "ring", r: 40 }, body);
    }
    return item;
  }

  handle(kind, slot, parent) {
    const group = make("g", { class: kind, tabindex: 0, role: "button", "data-slot": slot, "aria-label": kind }, parent);
    group.addEventListener("pointerdown", (event) => this.onDown(event, kind, slot, group));
    group.addEventListener("keydown", (event) => this.onKey(event, kind, slot));
    group.addEventListener("focus", () => this.select(slot));
    return group;
  }

  raise(front) {
    this.front = front;
    if (!this.layers) return;
    this.svg.insertBefore(this.layers[front], this.gripper);
  }

  update() {
    if (!this.scene || !this.items) return;
    this.svg.classList.toggle("watching", !this.actions.steering());
    this.scene.objects.forEach((object, slot) => {
      const item = this.items[slot];
      const place = this.placeOf(slot);
      if (item.goal) this.drawGoal(item, object, this.goalOf(slot), slot);
      if (item.body) this.drawObject(item, object, place, slot);
      const target = this.drag?.kind === "goal" && this.drag.slot === slot ? this.goalOf(slot) : object.target;
      const linked = place && target && this.scene.goal_type === "position";
      item.link.setAttribute("visibility", linked ? "visible" : "hidden");
      if (linked) for (const [key, value] of Object.entries({ x1: place[1], y1: place[0], x2: target[1], y2: target[0] })) item.link.setAttribute(key, value * SCALE);
      item.link.setAttribute("stroke", object.color);
    });
    const grip = this.state?.gripper;
    if (grip) { this.gripper.setAttribute("cx", grip[1] * SCALE); this.gripper.setAttribute("cy", grip[0] * SCALE); }
  }

  drawGoal(item, object, pose, slot) {
    const shape = object.outline.map((outline) => points(outline, pose));
    for (const layer of [item.edge, item.cover, item.tint]) layer.forEach((polygon, part) => polygon.setAttribute("points", shape[part]));
    item.edge.forEach((polygon) => polygon.setAttribute("stroke", object.color));
    item.tint.forEach((polygon) => polygon.setAttribute("fill", object.color));
    item.nose.setAttribute("visibility", this.scene.goal_type === "yaw" ? "visible" : "hidden");
    const ahead = [pose[0] + 0.055 * Math.cos(pose[2]), pose[1] + 0.055 * Math.sin(pose[2])];
    for (const [key, value] of Object.entries({ x1: pose[1], y1: pose[0], x2: ahead[1], y2: ahead[0] })) item.nose.setAttribute(key, value * SCALE);
    item.nose.setAttribute("stroke", object.color);
    center(item.goalRing, pose);
    item.goal.classList.toggle("selected", slot === this.selected);
    item.goal.setAttribute("aria-label", `Goal of the ${object.name} object, ${spoken(pose)}. Arrow keys move it.`);
  }

  drawObject(item, object, pose, slot) {
    item.body.setAttribute("visibility", pose ? "visible" : "hidden");
    if (!pose) return;
    item.body_parts.forEach((polygon, part) => {
      polygon.setAttribute("points", points(object.outline[part], pose));
      polygon.setAttribute("fill", object.color);
    });
    center(item.ring, pose);
    center(item.weight, pose);
    const weight = this.attention?.[slot + 1] ?? 0;
    item.weight.setAttribute("stroke-width", 9 * weight);
    item.body.classList.toggle("selected", slot === this.selected && !item.goal);
    item.body.setAttribute("aria-label", `The ${object.name} object, ${spoken(pose)}. Arrow keys push it.`);
  }

  goalOf(slot) {
    if (this.drag?.kind === "goal" && this.drag.slot === slot) return this.drag.pose;
    return this.scene.objects[slot].goal;
  }

  placeOf(slot) {
    const row = this.state?.objects?.[slot];
    return row ? row.slice(0, 3) : null;
  }

  select(slot) {
    this.selected = slot;
    this.update();
    this.actions.select(slot);
  }

  // Dragging

  position(event) {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
    return [at.y / SCALE, at.x / SCALE];
  }

  onDown(event, kind, slot, group) {
    if (event.button > 0 || !this.actions.steering()) return;
    event.preventDefault();
    group.focus({ preventScroll: true });
    this.svg.setPointerCapture(event.pointerId);
    const pose = kind === "goal" ? [...this.goalOf(slot)] : this.placeOf(slot);
    const [x, y] = this.position(event);
    this.drag = { kind, slot, group, pose: [...pose], offset: [pose[0] - x, pose[1] - y], moved: false };
    group.classList.add("dragging");
  }

  onMove(event) {
    if (!this.drag) return;
    const { kind, slot, pose, offset } = this.drag;
    const [x, y] = this.position(event);
    [pose[0], pose[1]] = [x + offset[0], y + offset[1]];
    this.drag.moved = true;
    if (kind === "goal") this.sendGoal(slot, ...pose, false);
    else this.sendPush(slot, pose[0], pose[1]);
    this.update();
  }

  onUp() {
    if (!this.drag) return;
    const { kind, slot, pose, moved } = this.drag;
    this.sendGoal.cancel();
    this.sendPush.cancel();
    this.endDrag();
    if (!moved) return;
    if (kind === "goal") this.actions.moveGoal(slot, ...pose, true);
    else { this.actions.push(slot, pose[0], pose[1]); this.actions.release(); }
  }

  endDrag() {
    this.drag?.group.classList.remove("dragging", "bad");
    this.drag = null;
    this.update();
  }

  mark(bad) {
    this.drag?.group.classList.toggle("bad", bad);
  }

  // Keys

  onKey(event, kind, slot) {
    const step = event.shiftKey ? 0.001 : 0.01;
    const moves = { ArrowUp: [-step, 0], ArrowDown: [step, 0], ArrowLeft: [0, -step], ArrowRight: [0, step] };
    const move = moves[event.key];
    const turn = event.key.toLowerCase() === "r" && kind === "goal";
    if (event.key === "Delete" || event.key === "Backspace") this.actions.remove(slot);
    else if (turn) this.turn(slot, event.shiftKey ? -1 : 1);
    else if (move && kind === "goal") {
      const pose = this.goalOf(slot);
      this.actions.moveGoal(slot, pose[0] + move[0], pose[1] + move[1], pose[2], true);
    } else if (move) {
      const pose = this.placeOf(slot);
      this.actions.push(slot, pose[0] + 3 * move[0], pose[1] + 3 * move[1]);
      this.actions.release();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  turn(slot, direction) {
    const pose = this.scene.objects[slot]?.goal;
    if (pose) this.actions.moveGoal(slot, pose[0], pose[1], wrapped(pose[2] + direction * Math.PI / 12), true);
  }
}

function layout(scene) {
  return [scene.table, scene.walls, scene.objects.map((object) => [object.outline, object.present, !object.goal])];
}

function center(circle, pose) {
  circle.setAttribute("cx", pose[1] * SCALE);
  circle.setAttribute("cy", pose[0] * SCALE);
}

function spoken([x, y]) {
  return `${Math.round(-x * 100)} centimeters towards the robot and ${Math.round(y * 100)} to the right of the middle`;
}

function wrapped(angle) {
  return Math.atan2(Math.sin(angle), Math.cos(angle));
}
