// Look: the test sequences as a gallery, and a map of their codes.

import { page } from "../parts/api.js";
import { card } from "../parts/cards.js";
import { fileButton } from "../parts/input.js";
import { choice, h } from "../parts/dom.js";
import { state } from "../parts/state.js";
import { codeMap } from "./map.js";

export const title = "Look";
const PAGE = 48;

/** Fill the view. */
export async function show(root) {
  const { run } = state;
  const wanted = {};
  const grid = h("div", { class: run.kind === "video" ? "gallery" : "gallery wide" });
  const count = h("p", { class: "quiet small", role: "status" });
  const more = h("button", { class: "button", type: "button", onclick: () => draw(shown + PAGE) }, "Show more");
  let shown = PAGE;
  function draw(limit) {
    shown = limit;
    const fitting = run.items.filter((item) => Object.entries(wanted).every(([name, value]) => value === "" || String(item.labels[name]) === value));
    grid.replaceChildren(...fitting.slice(0, limit).map((item) => card(item)));
    count.textContent = `${fitting.length} of ${run.items.length} sequences`;
    more.hidden = fitting.length <= limit;
  }
  const filters = run.factors.filter((factor) => !factor.numeric && factor.values.length <= 200).map((factor) =>
    choice(factor.name, [["", "all"], ...factor.values.map((value) => [value, value])], "", (value) => { wanted[factor.name] = value; draw(PAGE); }));
  root.append(intro(run));
  const gallery = h("section", { class: "stack tight", "aria-label": "Gallery" },
    h("div", { class: "row end" }, filters, !page && run.trained && fileButton(() => draw(PAGE))), count, grid, h("div", { class: "row" }, more));
  const side = run.trained && run.items.length > 2 ? h("aside", {}, codeMap(run)) : null;
  root.append(side ? h("div", { class: "look" }, gallery, side) : gallery);
  draw(PAGE);
}

function intro(run) {
  const parts = [h("h1", {}, run.title)];
  if (run.problem) parts.push(h("p", { class: "quiet" }, run.problem));
  if (!run.trained) {
    parts.push(h("p", { class: "quiet" }, "No model yet. "), h("p", {}, h("a", { class: "button main", href: "#train" }, "Train one on these data")));
  } else {
    parts.push(h("p", { class: "quiet" }, "Drag one sequence onto another: the lower one keeps ",
      h("span", { class: "code s" }, "s"), " (static) and takes ", h("span", { class: "code d" }, "d"),
      " (dynamic) of the dragged one. With the keyboard: press s or d on a card."));
    if (!page && run.items.length) parts.push(h("p", { class: "small quiet" }, "All codes as Parquet: ",
      ["s", "d"].map((code) => [h("a", { href: `api/runs/${run.key}/codes/${code}.parquet`, download: "" }, code), " "])));
  }
  return h("header", { class: "stack tight" }, parts);
}
