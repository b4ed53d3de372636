// The page: header, runs, and which view is shown.

import { getJson, page } from "./parts/api.js";
import { isPlaying, setPlaying } from "./parts/clock.js";
import { announce, attempt, h } from "./parts/dom.js";
import { setRun, state } from "./parts/state.js";
import { themeButton } from "./parts/theme.js";
import { watchDrops } from "./parts/input.js";
import * as look from "./views/look.js";
import * as swap from "./views/swap.js";
import * as leak from "./views/leak.js";
import * as compare from "./views/compare.js";
import * as train from "./views/train.js";

const VIEWS = { look, swap, leak, compare, train };
const main = document.getElementById("main");
let runs = [];
let opening = 0;

function viewName() {
  const name = location.hash.slice(1).split("/")[0];
  return name in VIEWS && !(page && name === "train") ? name : "look";
}

function drawTabs() {
  const names = Object.keys(VIEWS).filter((name) => !page || name !== "train");
  document.getElementById("tabs").replaceChildren(...names.map((name) =>
    h("a", { href: `#${name}`, "aria-current": name === viewName() ? "page" : null }, VIEWS[name].title)));
}

function drawTools() {
  const list = h("select", { "aria-label": "Run", onchange: () => openRun(list.value) },
    runs.map((run) => h("option", { value: run.key, selected: run.key === state.run?.key }, run.title)));
  const play = h("button", { class: "button plain icon", type: "button", onclick: () => { setPlaying(!isPlaying()); label(); } });
  const label = () => {
    play.textContent = isPlaying() ? "❚❚" : "▶";
    play.setAttribute("aria-label", isPlaying() ? "Pause all sequences" : "Play all sequences");
  };
  label();
  document.getElementById("tools").replaceChildren(...(runs.length > 1 ? [list] : []), play, themeButton(h));
}

/** Show the view of the address. */
async function show() {
  drawTabs();
  const name = viewName();
  document.title = `${VIEWS[name].title} · unbraid studio`;
  if (name !== "train" && !state.run) return main.replaceChildren(emptyNote());
  const root = h("div", { class: "stack", "data-view": name });
  main.replaceChildren(root);
  announce(VIEWS[name].title);
  return attempt(() => VIEWS[name].show(root, { runs, refresh }), root);
}

function emptyNote() {
  return h("div", { class: "center stack" }, h("h1", {}, "Nothing here yet"),
    h("p", { class: "quiet" }, "Train a model on a data set or on your own files: it takes a few minutes."),
    h("p", {}, h("a", { class: "button main", href: "#train" }, "Train a model")));
}

/** Open a run and show it. */
async function openRun(key) {
  const mine = ++opening;
  const title = runs.find((run) => run.key === key)?.title ?? key;
  main.replaceChildren(h("div", { class: "center stack" }, h("p", { class: "quiet" }, `Opening ${title}…`), h("progress", { "aria-label": "Opening" })));
  const run = await attempt(() => getJson(`runs/${key}`), main);
  if (!run || mine !== opening) return;
  setRun(run);
  drawTools();
  await show();
}

/** Ask again which runs there are; with a key, open that one. */
async function refresh(key = "") {
  runs = (await getJson("studio")).runs;
  drawTools();
  if (key) await openRun(key);
}

window.addEventListener("hashchange", () => {
  show();
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
});

await attempt(async () => {
  await refresh();
  drawTabs();
  if (!page) watchDrops(() => show());
  if (runs.length) await openRun(runs[0].key);
  else await show();
}, main);
