// Keep one code and draw the other from the prior: the same who with new motion, and the reverse.

import { page } from "../parts/api.js";
import { h, segment } from "../parts/dom.js";
import { describe, onPair, state } from "../parts/state.js";
import { player } from "../media/player.js";

const COUNT = 6;

/** A row of draws. */
export function draws(run) {
  const body = h("div", { class: run.kind === "video" ? "gallery" : "gallery wide" });
  let keep = "s";
  let seed = 1;
  const draw = () => {
    const item = state.items.get(state[keep]);
    const recipe = (i) => (keep === "s" ? { s: item.id, d: `draw${seed + i}` } : { s: `draw${seed + i}`, d: item.id });
    body.replaceChildren(
      h("div", { class: `slot ${keep}` }, player(run, { x: item.id }, { words: describe(item), caption: `${keep} is kept` })),
      ...Array.from({ length: COUNT }, (_, i) => h("div", { class: "slot" },
        player(run, recipe(i), { words: `Draw ${seed + i}, ${keep} of ${describe(item)} kept`, caption: `draw ${seed + i}` }))));
  };
  onPair(body, draw);
  draw();
  const more = h("button", { class: "button", type: "button", onclick: () => { seed += COUNT; draw(); } }, "Draw again");
  return h("section", { class: "stack", "aria-label": "New draws" },
    h("div", { class: "row" }, segment("What is kept", [["s", "Keep s, draw d"], ["d", "Keep d, draw s"]], "s", (value) => { keep = value; draw(); }), !page && more), body);
}
