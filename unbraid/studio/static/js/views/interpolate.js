// From one sequence to another, by a scrubber.

import { downloads } from "../parts/detail.js";
import { h, segment } from "../parts/dom.js";
import { describe, onPair, state } from "../parts/state.js";
import { player } from "../media/player.js";

/** The scrubber and what lies in between. */
export function interpolation(run) {
  let factor = "static";
  let share = 0.5;
  const recipe = () => ({ s: state.s, d: state.s, to: state.d, share: share.toFixed(2), factor });
  const words = () => `${Math.round(100 * share)} % of the way from ${describe(state.items.get(state.s))} to ${describe(state.items.get(state.d))}, ${factor} code`;
  const from = player(run, { x: state.s }, { words: describe(state.items.get(state.s)) });
  const to = player(run, { x: state.d }, { words: describe(state.items.get(state.d)) });
  const between = player(run, recipe(), { words: words() });
  const save = h("div", {}, downloads(run, recipe()));
  const value = h("output", { class: "num" }, "50 %");
  let busy = false;
  let dirty = false;
  async function draw() {
    if (busy) { dirty = true; return; }
    busy = true;
    await between.show(recipe(), words());
    save.replaceChildren(...[downloads(run, recipe())].filter(Boolean));
    busy = false;
    if (dirty) { dirty = false; draw(); }
  }
  const scrubber = h("input", { type: "range", min: 0, max: 1, step: 0.02, value: 0.5, "aria-label": "How far from the first to the second sequence",
    oninput: () => { share = Number(scrubber.value); value.textContent = `${Math.round(100 * share)} %`; draw(); } });
  onPair(between, () => {
    from.show({ x: state.s }, describe(state.items.get(state.s)));
    to.show({ x: state.d }, describe(state.items.get(state.d)));
    draw();
  });
  return h("section", { class: "stack", "aria-label": "In between" },
    h("div", { class: "row" }, segment("What changes", [["static", "s changes"], ["dynamic", "d changes"], ["both", "both change"]], factor, (name) => { factor = name; draw(); })),
    h("div", { class: "compare" },
      h("div", { class: "slot s" }, h("h2", {}, "From"), from),
      h("div", { class: "slot result" }, h("header", {}, h("h2", {}, "In between"), value), between, scrubber, save),
      h("div", { class: "slot d" }, h("h2", {}, "To"), to)));
}
