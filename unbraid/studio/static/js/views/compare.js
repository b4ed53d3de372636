// Compare: the same pair swapped by several runs, with their measurements and curves.

import { getJson, page } from "../parts/api.js";
import { attempt, h } from "../parts/dom.js";
import { choose, describe, onPair, state } from "../parts/state.js";
import { player } from "../media/player.js";
import { lineChart } from "./curves.js";

export const title = "Compare";
const chosen = new Set();
const MOST = 4;
const percent = (share) => (share === null || share === undefined ? "–" : `${Math.round(100 * share)} %`);

/** Fill the view. */
export async function show(root, { runs }) {
  const fitting = runs.filter((run) => run.run);
  if (!chosen.has(state.run.key)) chosen.clear(); // another run was opened
  if (!chosen.size) for (const run of [state.run, ...alike(fitting), ...fitting]) if (chosen.size < 2 && fitting.some((one) => one.key === run.key)) chosen.add(run.key);
  const body = h("div", { class: "stack" });
  const boxes = fitting.map((run) => {
    const box = h("input", { type: "checkbox", checked: chosen.has(run.key), onchange: () => { box.checked ? chosen.add(run.key) : chosen.delete(run.key); draw(body); } });
    return h("label", { class: "button" }, h("span", { class: "row" }, box, run.title));
  });
  root.append(h("h1", {}, page ? "Measurements" : "Compare runs"), boxes.length > 1 && h("fieldset", { class: "row panel" }, h("legend", { class: "sr" }, "Runs"), boxes), body);
  await draw(body);
}

/** Runs on the data of the opened one. */
function alike(runs) {
  const opened = runs.find((run) => run.key === state.run.key);
  return runs.filter((run) => run.dataName === opened?.dataName);
}

async function draw(body) {
  const keys = [...chosen].slice(0, MOST);
  if (chosen.size > MOST) chosen.delete([...chosen][0]);
  body.replaceChildren(h("p", { class: "quiet" }, "Opening the runs…"));
  await attempt(async () => {
    const runs = await Promise.all(keys.map((key) => (key === state.run.key ? state.run : getJson(`runs/${key}`))));
    const facts = await Promise.all(keys.map((key) => getJson(`runs/${key}/facts`)));
    body.replaceChildren(swaps(runs), measurements(runs, facts), curves(runs, facts));
  }, body);
}

/** The chosen pair, swapped by every run that has these sequences. */
function swaps(runs) {
  const same = runs.filter((run) => run.kind === state.run.kind && facts(run) === facts(state.run));
  const others = runs.filter((run) => !same.includes(run));
  const column = (name, recipe, words) => {
    const made = same.map((run) => [run, player(run, recipe(), { words: `${run.title}: ${words}` })]);
    onPair(made[0]?.[1] ?? document.body, () => made.forEach(([, shown]) => shown.show(recipe())));
    return made;
  };
  const results = column("result", () => ({ s: state.s, d: state.d }), "swap");
  const again = column("reconstruction", () => ({ s: state.s, d: state.s }), "reconstruction");
  const other = h("button", { class: "button", type: "button", onclick: () => choose(randomPair()) }, "Another pair");
  const originals = ["s", "d"].map((code) => {
    const shown = player(state.run, { x: state[code] }, { words: describe(state.items.get(state[code])), caption: `gives ${code}` });
    onPair(shown, () => shown.show({ x: state[code] }, describe(state.items.get(state[code]))));
    return h("div", { class: `slot ${code}` }, shown);
  });
  return h("section", { class: "stack", "aria-label": "Linked swaps" },
    h("div", { class: "row spread" }, h("h2", {}, "The same pair in every run"), !page && other),
    h("div", { class: "compare" }, originals, same.map((run, i) => h("div", { class: "slot result", "data-run": run.key }, h("h3", {}, run.title),
      h("div", { class: "compare" }, h("div", {}, h("p", { class: "small quiet" }, "Swap"), results[i][1]), !page && h("div", {}, h("p", { class: "small quiet" }, "Reconstruction of s"), again[i][1]))))),
    others.length > 0 && h("p", { class: "quiet" }, `Other data, so no common sequences: ${others.map((run) => run.title).join(", ")}.`));
}

const facts = (run) => JSON.stringify([run.frame, run.items.filter((item) => item.id.startsWith("t")).slice(0, 50).map((item) => [item.id, item.labels])]);

function randomPair() {
  const items = state.run.items;
  const one = () => items[Math.floor(Math.random() * items.length)].id;
  return { s: one(), d: one() };
}

function measurements(runs, facts) {
  const rows = [
    ["Method", (f) => f.method], ["Data", (f) => f.data], ["Preset", (f) => f.preset], ["Seed", (f) => f.seed],
    ["Steps", (f) => f.steps?.toLocaleString("en") ?? "–"], ["Minutes", (f) => f.minutes?.toFixed(1) ?? "–"], ["Ended by", (f) => f.reason],
    ["Separation (100 is best)", (f) => (f.separation === null ? "–" : Math.round(100 * f.separation))],
    ["Static factors told by s", (f) => percent(f.shares.static_from_s)], ["… by d (leak)", (f) => percent(f.shares.static_from_d)],
    ["Dynamic factors told by d", (f) => percent(f.shares.dynamic_from_d)], ["… by s (leak)", (f) => percent(f.shares.dynamic_from_s)],
    ["Reconstruction error, relative", (f) => f.relative_error?.toFixed(3) ?? "–"],
  ];
  const unmeasured = facts.some((f) => f.separation === null);
  return h("section", { class: "panel stack tight", "aria-label": "Measurements" }, h("h2", {}, "Measurements"),
    h("div", { class: "table-wrap" }, h("table", {}, h("thead", {}, h("tr", {}, h("td"), runs.map((run) => h("th", { scope: "col", class: "num" }, run.title)))),
      h("tbody", {}, rows.map(([name, value]) => h("tr", {}, h("th", { scope: "row" }, name), facts.map((f) => h("td", { class: "num" }, String(value(f))))))))),
    unmeasured && h("p", { class: "small quiet" }, "–: not measured yet. ", h("code", {}, "unbraid evaluate RUN"), " does it."));
}

function curves(runs, facts) {
  const line = (log, name) => runs.map((run, i) => ({ name: run.title, x: facts[i].curves[log].step ?? [], y: facts[i].curves[log][name] ?? [] }));
  const names = [...new Set(facts.flatMap((f) => Object.keys(f.curves.log)))].filter((name) => !["step", "minutes"].includes(name));
  return h("section", { class: "compare", "aria-label": "Training curves" }, names.map((name) => h("div", { class: "panel" }, lineChart(`${name}, training`, line("log", name)))),
    facts.some((f) => f.curves.validation.loss) && h("div", { class: "panel" }, lineChart("loss, validation", line("validation", "loss"))));
}
