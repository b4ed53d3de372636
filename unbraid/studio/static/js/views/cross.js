// A grid: every s of some sequences with every d of others.

import { page } from "../parts/api.js";
import { choice, h } from "../parts/dom.js";
import { describe, state } from "../parts/state.js";
import { player } from "../media/player.js";

/** The grid, with a choice of its size. */
export function crossGrid(run) {
  const grid = h("div", { class: "cross" });
  let size = run.kind === "series" ? 3 : 4;
  let first = 0;
  const draw = () => fill(grid, run, size, first);
  const again = h("button", { class: "button", type: "button", onclick: () => { first += 2 * size; draw(); } }, "Other sequences");
  draw();
  return h("section", { class: "stack", "aria-label": "Cross grid" },
    h("div", { class: "row end" }, choice("Size", [3, 4, 5, 6].map((n) => [String(n), `${n} × ${n}`]), String(size), (n) => { size = Number(n); draw(); }), again),
    h("p", { class: "quiet small" }, "Every row keeps ", h("span", { class: "code s" }, "s"), " of its first sequence, every column ", h("span", { class: "code d" }, "d"), " of its topmost."),
    grid);
}

function fill(grid, run, size, first) {
  const items = page ? run.items.filter((item) => page.swaps.includes(item.id)) : run.items;
  const at = (i) => items[(first + i * 7) % items.length];
  const rows = Array.from({ length: size }, (_, i) => (i === 0 ? state.items.get(state.s) ?? at(0) : at(i)));
  const columns = Array.from({ length: size }, (_, i) => (i === 0 ? state.items.get(state.d) ?? at(1) : at(size + i)));
  const least = run.kind === "video" ? 64 : 150;
  grid.style.gridTemplateColumns = `repeat(${size + 1}, minmax(${least}px, ${run.kind === "video" ? "170px" : "1fr"}))`;
  const edge = (item, code) => h("div", { class: `edge ${code}` }, player(run, { x: item.id }, { words: describe(item) }));
  grid.replaceChildren(h("div", { class: "corner" }, "s ↓ d →"), ...columns.map((item) => edge(item, "d")),
    ...rows.flatMap((row) => [edge(row, "s"), ...columns.map((column) =>
      player(run, { s: row.id, d: column.id }, { words: `s of ${describe(row)}; d of ${describe(column)}` }))]));
}
