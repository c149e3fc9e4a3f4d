// Wires the page: what arrives is shown, what is clicked is sent.

import { Driver } from "./driver.js";
import { TableMap } from "./map.js";
import { Progress } from "./progress.js";
import { SetupForm } from "./setup.js";
import { Connection } from "./socket.js";
import { Views } from "./views.js";

const $ = (id) => document.getElementById(id);
const PAUSE = "M7 5h4v14H7zM13 5h4v14h-4z", PLAY = "M8 5l11 7-11 7z";
const session = { steering: false, connected: false, running: true, replaying: false, watchOnly: false, seed: 0 };
const frames = [];

const send = (type, fields) => {
  if (!session.steering) return;
  if (!connection.send(type, fields)) toast("There is no connection: nothing was sent.");
};

const map = new TableMap($("map"), {
  moveGoal: (slot, x, y, yaw, final) => send("goal", { slot, x: near(x), y: near(y), yaw, final }),
  push: (slot, x, y) => send("push", { slot, x: near(x), y: near(y) }),
  release: () => send("release"),
  remove: (slot) => send("remove", { slot }),
  select: () => showTools(),
  steering: () => session.steering && session.connected && !session.watchOnly,
});
const views = new Views($("views"), $("goal-views"));
const progress = new Progress($("distances"), $("success"), $("values"), $("values-note"));
const form = new SetupForm(send);

const connection = new Connection({
  setup(message) {
    session.watchOnly = Boolean(message.watch_only);
    session.seed = message.setup.seed;
    document.body.classList.toggle("watch-only", session.watchOnly);
    form.show(message);
    session.colors = message.colors;
    showTools();
    showRole();
  },
  scene(message) {
    views.setCameras(message.cameras);
    map.setScene(message);
    progress.setScene(message);
    showTools();
  },
  state(message) {
    if (!map.scene || message.objects.length !== map.scene.objects.length) return;
    map.attention = views.overlay === "attention" ? message.inspection?.attention : null;
    views.inspect(message.inspection);
    map.setState(message);
    progress.setState(message);
    session.replaying = message.replay !== undefined;
    $("clock").textContent = session.replaying ? `−${message.replay.toFixed(1)} s` : `step ${message.step}`;
    showNote();
    showStatus();
    document.body.dataset.step = message.step;
  },
  image(kind, view, blob) {
    if (kind === 0 && view === 0) countFrame();
    views.show(kind, view, blob);
  },
  mode(message) {
    session.running = message.running;
    $("play").setAttribute("aria-label", message.running ? "Pause" : "Play");
    $("play-icon").setAttribute("d", message.running ? PAUSE : PLAY);
    form.showSpeed(message.speed);
    showStatus();
  },
  role(message) {
    session.steering = message.steering;
    session.clients = message.clients;
    showRole();
  },
  replay(message) {
    session.replaying = message.on;
    $("replay").setAttribute("aria-pressed", message.on);
    $("replay-text").textContent = message.on ? "Stop" : "Replay";
    showStatus();
  },
  busy(message) { session.busy = message.text; showStatus(); },
  error(message) {
    if (message.final === false) { map.mark(true); return; }
    map.update();
    toast(message.text);
  },
  saved(message) { form.addSaved(message); toast(`Saved: ${message.path}`, true); },
}, (connected) => {
  session.connected = connected;
  if (!connected) { session.steering = false; map.endDrag(); }
  showRole();
  showStatus();
});

new Driver(send, { toggle: () => send("run", { running: !session.running }), step: () => send("step"), add: () => send("add") });

// What the session is doing

function showStatus() {
  const [text, kind] = !session.connected ? ["Connection lost, trying again …", "bad"]
    : session.busy ? [session.busy, "warn"]
    : session.replaying ? ["Replay", "warn"]
    : session.watchOnly ? ["Watching an environment", ""]
    : session.running ? ["Running", ""] : ["Paused", "quiet"];
  const chip = $("status");
  if (chip.textContent !== text) { chip.textContent = text; chip.className = `chip ${kind}`; }
}

function showRole() {
  const active = session.connected && session.steering && !session.watchOnly;
  document.querySelectorAll(".steers").forEach((set) => { set.disabled = !active; });
  const several = session.connected && session.clients > 1;
  $("role").hidden = !several;
  $("role").textContent = session.steering ? `You steer, ${session.clients - 1} watching` : "You watch";
  $("take-over").hidden = !several || session.steering || session.watchOnly;
  map.update();
}

function showNote() {
  const note = views.note();
  $("overlay-note").hidden = !note;
  if ($("overlay-note").textContent !== note) $("overlay-note").textContent = note;
}

function showTools() {
  const object = map.scene?.objects[map.selected];
  if (!object || !session.colors) return;
  const key = Object.keys(session.colors).join();
  const box = $("swatches");
  if (box.dataset.key !== key) {
    box.dataset.key = key;
    box.replaceChildren(...Object.entries(session.colors).map(([name, color]) => {
      const button = document.createElement("button");
      button.type = "button";
      button.style.background = color;
      button.title = name;
      button.dataset.color = name;
      button.setAttribute("aria-label", name);
      button.onclick = () => send("color", { slot: map.selected, color: name });
      return button;
    }));
  }
  for (const button of box.children) button.setAttribute("aria-pressed", button.dataset.color === object.name);
}

function countFrame() {
  const now = performance.now();
  frames.push(now);
  while (frames[0] < now - 2000) frames.shift();
  if (frames.length > 4) $("fps").textContent = `${((frames.length - 1) / (now - frames[0]) * 1000).toFixed(0)} fps`;
}

function toast(text, good = false) {
  const shown = [...$("toasts").children].find((item) => item.textContent === text);
  shown?.remove();
  const item = document.createElement("p");
  item.textContent = text;
  item.className = good ? "good" : "";
  $("toasts").append(item);
  while ($("toasts").children.length > 3) $("toasts").firstChild.remove();
  setTimeout(() => item.remove(), 6000);
}

function near(value) {
  return Math.max(-2, Math.min(2, value));
}

// Buttons

$("play").onclick = () => send("run", { running: !session.running });
$("step").onclick = () => send("step");
$("restart").onclick = () => send("reset", { seed: null });
$("next").onclick = () => send("reset", { seed: session.seed + 1 });
$("replay").onclick = () => send("replay", { on: !session.replaying });
$("take-over").onclick = () => connection.send("steer");
$("add").onclick = () => send("add");
$("remove").onclick = () => send("remove", { slot: map.selected });
$("turn-left").onclick = () => map.turn(map.selected, 1);
$("turn-right").onclick = () => map.turn(map.selected, -1);
document.querySelectorAll("[data-save]").forEach((button) => { button.onclick = () => send("save", { what: button.dataset.save }); });

function choose(folder, key, call) {
  const buttons = [...$(folder).querySelectorAll("button")];
  for (const button of buttons) {
    button.onclick = () => {
      buttons.forEach((other) => other.setAttribute("aria-pressed", other === button));
      call(button.dataset[key]);
    };
  }
}
choose("overlays", "overlay", (overlay) => { views.setOverlay(overlay); showNote(); });
choose("layers", "layer", (layer) => map.raise(layer));
addEventListener("resize", () => { views.drawAll(); progress.draw(); });

// Light and dark

const preferred = matchMedia("(prefers-color-scheme: dark)");
const setTheme = (theme) => { document.documentElement.dataset.theme = theme; };
setTheme(localStorage.getItem("theme") ?? (preferred.matches ? "dark" : "light"));
$("theme").onclick = () => {
  const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  localStorage.setItem("theme", theme);
  setTheme(theme);
};
