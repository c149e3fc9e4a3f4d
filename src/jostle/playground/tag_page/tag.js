// The tagging page: shows one image at a time, sends each tag, and shows what the server has kept.

import { Connection } from "./socket.js";

const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const SIDE = 1000, REACH = 60; // units of the drawing; a click farther from any particle does nothing
const page = { images: [], objects: [], done: [], blobs: [], shown: 0, steering: false, connected: false, started: false };

const connection = new Connection({
  setup(message) {
    page.images = message.images;
    page.shown = Math.min(page.shown, page.images.length - 1);
    $("file").textContent = `Tags are kept in ${message.tags_file}.`;
    listImages();
    show();
  },
  image(kind, index, blob) {
    if (page.blobs[index]) URL.revokeObjectURL(page.blobs[index]);
    page.blobs[index] = URL.createObjectURL(blob);
    if (index === page.shown) showImage();
  },
  tags(message) {
    page.objects = message.objects.map((numbers) => new Set(numbers));
    page.done = message.done;
    if (!page.started) { page.started = true; page.shown = Math.max(page.done.indexOf(false), 0); show(); }
    showTags();
    showProgress();
  },
  role(message) { page.steering = message.steering; showRole(); },
  fit(message) { showFit(message); },
  error(message) { toast(message.text); },
}, (connected) => {
  page.connected = connected;
  if (!connected) page.steering = false;
  showRole();
});

function send(type, fields) {
  if (!page.steering || !connection.send(type, fields)) { toast("Nothing was sent: there is no connection, or another browser tags."); return false; }
  return true;
}

// One image and its particles

function show() {
  const image = page.images[page.shown];
  if (!image) return;
  $("title").textContent = `Image ${page.shown + 1} of ${page.images.length}`;
  $("caption").textContent = `scene ${image.scene + 1}, camera ${image.camera}`;
  $("previous").disabled = page.shown === 0;
  $("particles").replaceChildren(...image.particles.map(particle));
  showImage();
  showTags();
  showProgress();
}

function showImage() {
  const image = page.images[page.shown];
  if (page.blobs[page.shown]) $("image").src = page.blobs[page.shown];
  if (image) $("image").alt = `Scene ${image.scene + 1} as the camera ${image.camera} sees it`;
}

function particle([number, x, y, halfWidth, halfHeight]) {
  const group = make("g", { tabindex: 0, role: "checkbox", "data-number": number });
  const box = { x: (x - halfWidth) * SIDE, y: (y - halfHeight) * SIDE, width: 2 * halfWidth * SIDE, height: 2 * halfHeight * SIDE };
  const center = { cx: x * SIDE, cy: y * SIDE };
  group.append(make("rect", { ...box, class: "shade" }), make("rect", { ...box, class: "box" }), make("circle", { ...center, r: 24, class: "ring" }), make("circle", { ...center, r: 11, class: "dot" }));
  group.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    toggle(number);
  });
  return group;
}

function make(name, attributes) {
  const element = document.createElementNS(SVG, name);
  Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
  return element;
}

function showTags() {
  const tagged = page.objects[page.shown] ?? new Set();
  const image = page.images[page.shown];
  [...$("particles").children].forEach((group, index) => {
    const number = Number(group.dataset.number), on = tagged.has(number);
    const [, x, y] = image.particles[index];
    group.setAttribute("aria-checked", on);
    const place = `${Math.round(100 * x)} % from the left, ${Math.round(100 * y)} % from the top`;
    group.setAttribute("aria-label", `Particle ${index + 1}, ${place}: ${on ? "an object" : "no object"}`);
  });
  $("tagged").textContent = `${tagged.size} tagged`;
}

function toggle(number) {
  const tagged = page.objects[page.shown];
  if (!tagged) return;
  const on = !tagged.has(number);
  if (!send("tag", { image: page.shown, particle: number, on })) return;
  if (on) tagged.add(number); else tagged.delete(number); // the server's answer follows
  showTags();
}

// The nearest particle is meant: boxes overlap, and fingers are thick.
$("particles").addEventListener("pointerdown", (event) => event.preventDefault()); // keeps the focus
$("particles").addEventListener("click", (event) => {
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform($("particles").getScreenCTM().inverse());
  let best = null, least = REACH;
  for (const [number, x, y] of page.images[page.shown]?.particles ?? []) {
    const distance = Math.hypot(SIDE * x - at.x, SIDE * y - at.y);
    if (distance < least) { best = number; least = distance; }
  }
  if (best !== null) toggle(best);
});

// From image to image

function go(image) {
  if (image < 0 || image >= page.images.length) return;
  page.shown = image;
  show();
}

function next() {
  if (!page.done[page.shown] && !send("done", { image: page.shown, done: true })) return;
  page.done[page.shown] = true;
  if (page.shown + 1 < page.images.length) go(page.shown + 1);
  else showProgress();
}

function listImages() {
  $("list").replaceChildren(...page.images.map((image, index) => {
    const item = document.createElement("li"), button = document.createElement("button");
    button.textContent = index + 1;
    button.addEventListener("click", () => go(index));
    item.append(button);
    return item;
  }));
}

function showProgress() {
  const count = page.images.length, done = page.done.filter(Boolean).length;
  $("done-count").textContent = `${done} of ${count} done`;
  $("progress").max = Math.max(count, 1);
  $("progress").value = done;
  $("next").textContent = page.shown + 1 < count ? "Next" : "Finish";
  [...$("list").children].forEach((item, index) => {
    const button = item.firstChild, state = page.done[index] ? "done" : "not done";
    button.classList.toggle("done", Boolean(page.done[index]));
    button.setAttribute("aria-current", index === page.shown);
    button.setAttribute("aria-label", `Image ${index + 1}, ${state}`);
  });
  document.body.dataset.shown = page.shown;
}

function showFit(message) {
  $("fit").disabled = message.running;
  const failed = !message.running && message.error;
  $("fit-note").textContent = message.running ? "Fitting, and looking at other episodes …"
    : failed ? `It could not be fitted: ${message.error}`
      : `Fitted to ${message.images} images with ${message.objects} tagged particles, and written to ${message.path}. On other episodes, by the segmentation:`;
  $("scores").hidden = Boolean(message.running || failed);
  if ($("scores").hidden) return;
  $("objects-score").textContent = `${(100 * message.object_accuracy).toFixed(1)} %`;
  $("others-score").textContent = `${(100 * message.other_accuracy).toFixed(1)} %`;
}

// Who tags

function showRole() {
  const [text, kind] = !page.connected ? ["Connection lost", "bad"] : page.steering ? ["Saved", ""] : ["Another browser tags", "warn"];
  $("status").textContent = text;
  $("status").className = `chip ${kind}`;
  $("take-over").hidden = !page.connected || page.steering;
  for (const id of ["next", "clear", "fit"]) $(id).disabled = !page.steering;
}

function toast(text) {
  const line = document.createElement("p");
  line.textContent = text;
  $("toasts").append(line);
  setTimeout(() => line.remove(), 6000);
}

$("next").addEventListener("click", next);
$("previous").addEventListener("click", () => go(page.shown - 1));
$("clear").addEventListener("click", () => [...(page.objects[page.shown] ?? [])].forEach(toggle));
$("fit").addEventListener("click", () => send("fit"));
$("take-over").addEventListener("click", () => connection.send("steer"));
$("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "ArrowRight" || (event.key === " " && !event.target.matches("button"))) next();
  else if (event.key === "ArrowLeft") go(page.shown - 1);
  else return;
  event.preventDefault();
});

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
}
setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
