// A sequence as a card: it can be opened, dragged onto another one, or given a part in a swap.

import { h } from "./dom.js";
import { canSwap, choose, describe, onPair, state } from "./state.js";
import { player } from "../media/player.js";
import { openItem } from "./detail.js";

const TYPE = "text/unbraid-item";

/** Let an element take a sequence that is dropped on it, or dragged over it. */
export function dropTarget(element, take) {
  element.addEventListener("dragover", (event) => {
    if (!event.dataTransfer.types.includes(TYPE)) return;
    event.preventDefault();
    element.classList.add("over");
  });
  element.addEventListener("dragleave", () => element.classList.remove("over"));
  element.addEventListener("drop", (event) => {
    element.classList.remove("over");
    const id = event.dataTransfer.getData(TYPE);
    if (!id) return;
    event.preventDefault();
    take(id);
  });
}

/** The labels of a sequence as chips, coloured by their role. */
export function chips(item, run = state.run) {
  const shown = run.factors.filter((factor) => (item.labels[factor.name] ?? null) !== null);
  return h("div", { class: "chips" }, shown.map((factor) =>
    h("span", { class: `chip ${factor.role}`, title: factor.name }, String(item.labels[factor.name]))));
}

/** A card. `small` leaves out labels and buttons; a click then calls `pick`. */
export function card(item, { small = false, pick = null, extra = null } = {}) {
  const words = describe(item);
  const element = h("article", {
    class: "card", draggable: "true", tabindex: "0", role: "group", "aria-label": words, "data-id": item.id,
    onclick: (event) => { if (!event.target.closest("button")) (pick ?? openItem)(item.id); },
    onkeydown: (event) => keys(event, item, pick),
    ondragstart: (event) => event.dataTransfer.setData(TYPE, item.id),
  });
  element.append(player(state.run, { x: item.id }, { words, mode: "hover", host: element }));
  if (!small) element.append(...details(item));
  if (extra) element.append(extra);
  dropTarget(element, (dragged) => swapOnto(item.id, dragged));
  const mark = () => {
    element.classList.toggle("is-s", state.s === item.id);
    element.classList.toggle("is-d", state.d === item.id);
  };
  onPair(element, mark);
  mark();
  return element;
}

function details(item) {
  const parts = [h("div", { class: "small quiet" }, item.name || `#${item.id.slice(1)}`), chips(item)];
  if (!canSwap(item.id)) return parts;
  const use = (code, words) => h("button", {
    class: `button ${code}`, type: "button", title: words, "aria-label": `${words}: ${describe(item)}`,
    onclick: () => choose({ [code]: item.id }),
  }, h("span", { class: `code ${code}` }, code));
  return [...parts, h("div", { class: "actions" }, use("s", "Take its static code"), use("d", "Take its dynamic code"))];
}

function keys(event, item, pick) {
  if (event.target !== event.currentTarget) return;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    (pick ?? openItem)(item.id);
  } else if ((event.key === "s" || event.key === "d") && canSwap(item.id)) {
    choose({ [event.key]: item.id });
  }
}

/** Keep who the lower sequence is, take what the dragged one does. */
export function swapOnto(below, dragged) {
  if (!canSwap(below) || !canSwap(dragged)) return;
  choose({ s: below, d: dragged });
  location.hash = "swap";
}
