// Swap: one sequence gives s, another gives d; and what else can be done with two codes.

import { page } from "../parts/api.js";
import { card, chips, dropTarget } from "../parts/cards.js";
import { downloads } from "../parts/detail.js";
import { h, segment } from "../parts/dom.js";
import { fileButton } from "../parts/input.js";
import { choose, describe, onPair, state } from "../parts/state.js";
import { player } from "../media/player.js";
import { crossGrid } from "./cross.js";
import { draws } from "./draws.js";
import { directions } from "./directions.js";
import { interpolation } from "./interpolate.js";

export const title = "Swap";
const TRAY = 60;
const MODES = { pair: ["Pair", pair], cross: ["Cross grid", crossGrid], draws: ["New draws", draws], directions: ["Directions", directions], between: ["In between", interpolation] };

/** Fill the view. */
export async function show(root) {
  const { run } = state;
  if (!run.trained || run.items.length < 1) {
    root.append(h("h1", {}, "Swap"), h("p", { class: "quiet" }, run.problem || "There is no trained model here yet."), h("p", {}, h("a", { class: "button main", href: "#train" }, "Train a model")));
    return;
  }
  const names = Object.keys(MODES).filter((name) => !page || page.modes.includes(name));
  const asked = location.hash.split("/")[1];
  const first = names.includes(asked) ? asked : "pair";
  const body = h("div", { class: "stack" });
  let slot = "s";
  const pick = (id) => { choose({ [slot]: id }); slot = slot === "s" ? "d" : "s"; mark(); };
  const tray = h("div", { class: run.kind === "video" ? "tray" : "tray wide", role: "group", "aria-label": "Sequences to choose from" });
  const fill = () => tray.replaceChildren(...trayItems(run).map((item) => card(item, { small: true, pick })));
  const hint = h("p", { class: "quiet small" });
  const mark = () => { hint.replaceChildren("Drag a sequence to a place above, or click one: it gives ", h("span", { class: `code ${slot}` }, slot), " next."); };
  root.append(h("div", { class: "row spread" }, h("h1", {}, "Swap"),
    segment("What to do", names.map((name) => [name, MODES[name][0]]), first, (name) => body.replaceChildren(MODES[name][1](run)))),
  body, h("section", { class: "stack tight", "aria-label": "Tray" }, h("div", { class: "row spread" }, hint, !page && fileButton(fill)), tray));
  mark();
  fill();
  body.replaceChildren(MODES[first][1](run));
}

function trayItems(run) {
  const items = page ? run.items.filter((item) => page.swaps.includes(item.id)) : run.items;
  return items.slice(0, TRAY);
}

/** The pair that is swapped, the result, and the reverse. */
function pair(run) {
  const stage = h("section", { class: "stage", "aria-label": "Stage" });
  const s = place(run, "s", "source of s", "static");
  const d = place(run, "d", "source of d", "dynamic");
  const result = made(run, "Result", "s of the first, d of the second", () => ({ s: state.s, d: state.d }), "result");
  const reverse = made(run, "The reverse", "s of the second, d of the first", () => ({ s: state.d, d: state.s }), "");
  const exchange = h("button", { class: "button", type: "button", onclick: () => choose({ s: state.d, d: state.s }) }, "⇄ Exchange");
  const shuffle = h("button", { class: "button", type: "button", onclick: () => choose(randomPair(run)) }, "Another pair");
  stage.append(s, d, result, reverse);
  return h("div", { class: "stack" }, stage, h("div", { class: "row" }, exchange, shuffle));
}

function randomPair(run) {
  const items = trayItems(run);
  const one = () => items[Math.floor(Math.random() * items.length)].id;
  return { s: one(), d: one() };
}

function place(run, code, words, meaning) {
  const item = () => state.items.get(state[code]);
  const shown = player(run, { x: state[code] }, { words: describe(item()) });
  const labels = h("div", {}, chips(item()));
  const element = h("div", { class: `slot ${code}`, "data-slot": code }, h("header", {},
    h("h2", {}, h("span", { class: `code ${code}` }, code), ` ${words.replace(/ [sd]$/, "")} ${meaning}`)), shown, labels);
  dropTarget(element, (id) => choose({ [code]: id }));
  onPair(element, () => { shown.show({ x: state[code] }, describe(item())); labels.replaceChildren(chips(item())); });
  return element;
}

function made(run, name, words, recipe, kind) {
  const alt = () => `${name}: static code of ${describe(state.items.get(recipe().s))}; dynamic code of ${describe(state.items.get(recipe().d))}`;
  const shown = player(run, recipe(), { words: alt() });
  const save = h("div", {}, downloads(run, recipe()));
  const element = h("div", { class: `slot ${kind}`, "data-made": kind || "reverse" }, h("header", {}, h("h2", {}, name), h("span", { class: "small quiet" }, words)), shown, save);
  onPair(element, () => { shown.show(recipe(), alt()); save.replaceChildren(...[downloads(run, recipe())].filter(Boolean)); });
  return element;
}
