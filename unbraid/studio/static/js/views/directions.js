// Sliders along directions of s, decoded while they move.

import { getJson } from "../parts/api.js";
import { downloads } from "../parts/detail.js";
import { attempt, h } from "../parts/dom.js";
import { describe, onPair, state } from "../parts/state.js";
import { player } from "../media/player.js";

const FARTHEST = 4; // standard deviations
const percent = (share) => `${Math.round(100 * share)} %`;

/** The sliders and what they make. */
export function directions(run) {
  const moves = new Map();
  const recipe = () => ({ s: state.s, d: state.s, moves: [...moves].filter(([, far]) => far).map(([id, far]) => `${id}:${far}`).join(",") });
  const words = () => `Decoded with a changed s: ${describe(state.items.get(state.s))}`;
  const shown = player(run, recipe(), { words: words() });
  const original = player(run, { x: state.s }, { words: describe(state.items.get(state.s)) });
  const save = h("div", {}, downloads(run, recipe()));
  let busy = false;
  let dirty = false;
  async function draw() { // one request at a time, the latest state wins
    if (busy) { dirty = true; return; }
    busy = true;
    await shown.show(recipe(), words());
    save.replaceChildren(...[downloads(run, recipe())].filter(Boolean));
    busy = false;
    if (dirty) { dirty = false; draw(); }
  }
  const sliders = h("div", { class: "stack" }, h("p", { class: "quiet" }, "Looking for directions…"));
  const reset = () => { moves.clear(); for (const input of sliders.querySelectorAll("input")) { input.value = "0"; input.dispatchEvent(new Event("input")); } };
  attempt(async () => {
    const found = await getJson(`runs/${run.key}/directions`);
    if (!found.length) throw new Error("All static codes are alike: there is no direction to go along.");
    sliders.replaceChildren(...groups(found, (id, far) => { moves.set(id, far); draw(); }));
  }, sliders);
  onPair(shown, () => { original.show({ x: state.s }, describe(state.items.get(state.s))); draw(); });
  return h("section", { class: "two", "aria-label": "Directions" },
    h("div", { class: "stage-two compare" },
      h("div", { class: "slot s" }, h("h2", {}, "Original"), original),
      h("div", { class: "slot result" }, h("h2", {}, "Changed"), shown, save)),
    h("div", { class: "panel stack" }, h("div", { class: "row spread" }, h("h2", {}, "Move along s"), h("button", { class: "button", type: "button", onclick: reset }, "Reset")), sliders));
}

function groups(found, move) {
  const principal = found.filter((one) => one.kind === "principal");
  const labels = [...new Set(found.filter((one) => one.kind === "label").map((one) => one.factor))];
  const name = (one) => [`PC ${Number(one.id.slice(1)) + 1}`, `${percent(one.share)} of variance${one.linked > 0.25 ? `, mostly ${one.factor}` : ""}`];
  const made = [h("div", { class: "stack tight" }, h("h3", {}, "Principal directions"), h("div", { class: "sliders" }, principal.map((one) => slider(one.id, ...name(one), move))))];
  for (const factor of labels) {
    const mine = found.filter((one) => one.kind === "label" && one.factor === factor);
    made.push(h("div", { class: "stack tight" }, h("h3", {}, factor, h("span", { class: "quiet small" }, ` (linear probe ${percent(mine[0].share)})`)),
      h("div", { class: "sliders" }, mine.map((one) => slider(one.id, `→ ${one.value}`, "", move, factor)))));
  }
  return made;
}

function slider(id, name, note, move, factor = "") {
  const value = h("output", { class: "num quiet" }, "0.0");
  const input = h("input", { type: "range", min: -FARTHEST, max: FARTHEST, step: 0.1, value: 0, "aria-label": `${factor} ${name} ${note}`.trim(), "data-direction": id,
    oninput: () => { value.textContent = Number(input.value).toFixed(1); move(id, Number(input.value)); } });
  return h("div", { class: "slider" }, h("span", {}, h("span", {}, name, note && h("span", { class: "quiet" }, ` ${note}`)), value), input);
}
