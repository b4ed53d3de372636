// A map of all codes in the plane, coloured by a label; a click opens the sequence.

import { getJson, page } from "../parts/api.js";
import { openItem } from "../parts/detail.js";
import { attempt, choice, h, segment } from "../parts/dom.js";
import { describe } from "../parts/state.js";
import { player } from "../media/player.js";

const COLOURS = ["#2f7ab5", "#d9692a", "#4c9a6a", "#9b6cc4", "#c99a12", "#4fb0cf", "#d0486b", "#9a7b55", "#92b33a", "#dd86b2", "#737b86", "#b0b6be"];
const SIZE = 640;
const MARGIN = 24;

/** A panel with the map. */
export function codeMap(run) {
  const asked = { code: "s", way: "pca", label: run.factors.find((factor) => factor.role === "static")?.name ?? "" };
  const canvas = h("canvas", { class: "map", width: SIZE, height: SIZE, tabindex: "0", role: "img" });
  const legend = h("div", { class: "legend" });
  const preview = h("div", { class: "small quiet", "aria-live": "polite" }, "Point at a dot; click to open it.");
  const view = { points: [], items: [], at: -1 };
  const draw = () => paint(canvas, legend, run, asked, view);
  const load = () => attempt(async () => {
    canvas.setAttribute("aria-busy", "true");
    const found = await getJson(`runs/${run.key}/map?code=${asked.code}&way=${asked.way}`);
    view.items = run.items.filter((item) => item.id.startsWith("t"));
    view.points = found.points;
    canvas.setAttribute("aria-label", `Map of ${asked.code} of ${found.points.length} sequences by ${asked.way}. Arrow keys go from dot to dot, Enter opens one.`);
    canvas.removeAttribute("aria-busy");
    draw();
  });
  listen(canvas, view, draw, (item) => preview.replaceChildren(player(run, { x: item.id }, { words: describe(item) }), describe(item)));
  load();
  const set = (name, again) => (value) => { asked[name] = value; again(); };
  return h("section", { class: "panel stack tight", "aria-label": "Map of codes" },
    h("h2", {}, "Map of codes"),
    h("div", { class: "row" },
      segment("Code", [["s", "static s"], ["d", "dynamic d"]], "s", set("code", load)),
      !page && segment("Method", [["pca", "PCA"], ["tsne", "t-SNE"]], "pca", set("way", load))),
    choice("Colour", run.factors.map((factor) => [factor.name, factor.name]), asked.label, set("label", draw)),
    canvas, legend, preview);
}

function place([x, y]) {
  return [MARGIN + x * (SIZE - 2 * MARGIN), SIZE - MARGIN - y * (SIZE - 2 * MARGIN)];
}

function colourOf(factor, value) {
  if (!factor || value === null || value === undefined) return "#8a8f96";
  if (factor.numeric) return `hsl(${220 - 180 * Math.max(0, Math.min(1, value))} 70% 50%)`;
  const index = factor.values.indexOf(String(value));
  if (factor.values.length <= COLOURS.length) return COLOURS[index];
  return `hsl(${(360 * index) / factor.values.length} 60% 50%)`;
}

function paint(canvas, legend, run, asked, view) {
  const pen = canvas.getContext("2d");
  const factor = run.factors.find((one) => one.name === asked.label);
  pen.clearRect(0, 0, SIZE, SIZE);
  view.points.forEach((point, i) => {
    const item = view.items[i];
    if (!item) return;
    const [x, y] = place(point);
    pen.beginPath();
    pen.arc(x, y, i === view.at ? 11 : 5.5, 0, 7);
    pen.globalAlpha = i === view.at ? 1 : 0.78;
    pen.fillStyle = colourOf(factor, item.labels[asked.label]);
    pen.fill();
    if (i !== view.at) return;
    pen.lineWidth = 3;
    pen.strokeStyle = getComputedStyle(canvas).color;
    pen.stroke();
  });
  const values = factor && !factor.numeric && factor.values.length <= COLOURS.length ? factor.values : [];
  legend.replaceChildren(...values.map((value) => {
    const dot = h("i");
    dot.style.background = colourOf(factor, value);
    return h("span", {}, dot, value);
  }));
}

function listen(canvas, view, draw, look) {
  const near = (event) => {
    const box = canvas.getBoundingClientRect();
    const [x, y] = [((event.clientX - box.left) / box.width) * SIZE, ((event.clientY - box.top) / box.height) * SIZE];
    let [best, least] = [-1, 40 ** 2];
    view.points.forEach((point, i) => {
      const [px, py] = place(point);
      const far = (px - x) ** 2 + (py - y) ** 2;
      if (far < least) [best, least] = [i, far];
    });
    return best;
  };
  const go = (at) => {
    if (at < 0 || at === view.at || !view.items[at]) return;
    view.at = at;
    draw();
    look(view.items[at]);
  };
  const open = () => { if (view.at >= 0) openItem(view.items[view.at].id); };
  canvas.addEventListener("pointermove", (event) => go(near(event)));
  canvas.addEventListener("click", (event) => { go(near(event)); if (near(event) >= 0) open(); });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      go((view.at + step + view.points.length) % view.points.length);
    } else if (event.key === "Enter") {
      event.preventDefault(); // or it would press the button that gets the focus
      open();
    }
  });
}
