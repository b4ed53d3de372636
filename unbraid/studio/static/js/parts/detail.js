// One sequence in full: the original, its reconstruction, labels, downloads.

import { download, page } from "./api.js";
import { h } from "./dom.js";
import { canSwap, choose, describe, state } from "./state.js";
import { player } from "../media/player.js";
import { chips } from "./cards.js";

/** Links that save a sequence in every form it can be had in. */
export function downloads(run, recipe) {
  if (page) return null;
  return h("div", { class: "row" }, run.forms.filter((form) => form !== "wav" || run.sound).map((form) =>
    h("a", { class: "button", href: download(run, recipe, form), download: "" }, `Save ${form.toUpperCase()}`)));
}

/** Open a sequence over the page. */
export function openItem(id) {
  const { run } = state;
  const item = state.items.get(id);
  const close = h("button", { class: "button plain", type: "button", onclick: () => dialog.close() }, "Close");
  const give = (code, words) => h("button", {
    class: `button ${code}`, type: "button",
    onclick: () => { choose({ [code]: id }); dialog.close(); location.hash = "swap"; },
  }, words);
  const both = canSwap(id) ? h("div", { class: "compare" },
    player(run, { x: id }, { words: describe(item), caption: "Original" }),
    player(run, { s: id, d: id }, { words: `Reconstruction of ${describe(item)}`, caption: "Reconstruction" }))
    : player(run, { x: id }, { words: describe(item), caption: "Original" });
  const dialog = h("dialog", { "aria-label": describe(item), onclose: () => dialog.remove() },
    h("div", { class: "stack" },
      h("div", { class: "row spread" }, h("h2", {}, item.name || `Sequence ${id.slice(1)}`), close),
      both, chips(item),
      canSwap(id) && h("div", { class: "row" }, give("s", "Swap: take its s"), give("d", "Swap: take its d")),
      downloads(run, { x: id })));
  document.body.append(dialog);
  dialog.showModal();
}
