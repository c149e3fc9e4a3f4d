// Keys: W A S D, Q and E drive the gripper while they are held; some others are shortcuts.

const MOVES = { KeyW: [-1, 0, 0], KeyS: [1, 0, 0], KeyA: [0, -1, 0], KeyD: [0, 1, 0], KeyQ: [0, 0, 1], KeyE: [0, 0, -1] };
const STRENGTH = 0.6;

export class Driver {
  constructor(send, actions) {
    this.send = send;
    this.held = new Set();
    this.timer = null;
    addEventListener("keydown", (event) => this.onDown(event, actions));
    addEventListener("keyup", (event) => this.onUp(event.code));
    addEventListener("blur", () => { this.held.clear(); this.drive(); });
  }

  onDown(event, actions) {
    const typing = event.target.matches?.("input, select, textarea");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.code in MOVES) {
      this.held.add(event.code);
      this.timer ??= setInterval(() => this.drive(), 100);
      event.preventDefault();
    } else if (event.code === "Space" && !event.target.matches?.("button, summary")) {
      actions.toggle();
      event.preventDefault();
    } else if (event.key === "n") actions.step();
    else if (event.key === "+") actions.add();
  }

  onUp(code) {
    this.held.delete(code);
  }

  drive() {
    if (!this.held.size) { clearInterval(this.timer); this.timer = null; return; }
    const sum = [0, 0, 0];
    for (const code of this.held) MOVES[code].forEach((value, axis) => { sum[axis] += value * STRENGTH; });
    this.send("drive", { x: sum[0], y: sum[1], z: sum[2] });
  }
}
