// Leak: which code tells which factor; a click shows the sequences that give it away.

import { getJson, page } from "../parts/api.js";
import { card } from "../parts/cards.js";
import { attempt, h } from "../parts/dom.js";
import { state } from "../parts/state.js";

export const title = "Leak";
const PROBES = { svc: "support-vector classifier", knn: "nearest neighbours", forest: "random forest" };
const percent = (share) => `${Math.round(100 * share)} %`;

/** Fill the view. */
export async function show(root) {
  const { run } = state;
  root.append(h("h1", {}, "Does one code leak into the other?"));
  if (!run.trained) {
    root.append(h("p", { class: "quiet" }, "There is no trained model here yet."));
    return;
  }
  const wait = h("div", { class: "stack tight" }, h("p", { class: "quiet" }, "Probes are being trained on the codes. This takes some seconds, once."), h("progress", { "aria-label": "Measuring" }));
  root.append(wait);
  const found = await getJson(`runs/${run.key}/leak`).finally(() => wait.remove());
  root.append(h("p", { class: "verdict" }, found.verdict));
  if (!found.separation) return;
  const detail = h("section", { class: "stack", "aria-live": "polite", "aria-label": "Sequences" });
  root.append(matrix(found.separation.factors, (row, code) => cell(run, row, code, detail)),
    h("p", { class: "quiet small" }, "Percent are of the way from chance to certainty, by the strongest of three probes. Blue: the code should tell this factor. Rust: it should not."),
    detail);
}

function matrix(factors, open) {
  const cells = [];
  const press = (button, row, code) => {
    for (const other of cells) other.setAttribute("aria-pressed", String(other === button));
    open(row, code);
  };
  const make = (row, code) => {
    const wanted = (row.role === "static") === (code === "s");
    const share = Math.max(0, Math.min(1, row[code]));
    const button = h("button", {
      type: "button", "aria-pressed": "false", disabled: Boolean(page),
      "aria-label": `${row.factor} from ${code}: ${percent(share)}, ${wanted ? "wanted" : share > 0.2 ? "a leak" : "no leak"}; ${PROBES[row[`${code}_by`]]}; chance ${percent(row.chance)}`,
      onclick: () => press(button, row, code),
    }, h("b", { class: "num" }, percent(share)), h("span", { class: "small" }, row[`${code}_by`]));
    const colour = `var(--${wanted ? "s" : "d"})`;
    button.style.background = `color-mix(in oklab, ${colour} ${Math.round(5 + 40 * share)}%, var(--card))`; // text stays readable
    button.style.boxShadow = `inset 0 -${Math.round(6 * share)}px ${colour}`;
    cells.push(button);
    return h("td", {}, button);
  };
  return h("div", { class: "table-wrap" }, h("table", { class: "heat" },
    h("thead", {}, h("tr", {}, h("td"), h("th", { scope: "col" }, h("span", { class: "code s" }, "s"), " static"), h("th", { scope: "col" }, h("span", { class: "code d" }, "d"), " dynamic"), h("th", { scope: "col" }, "chance"))),
    h("tbody", {}, factors.map((row) => h("tr", {}, h("th", { scope: "row" }, row.factor, " ", h("span", { class: `chip ${row.role}` }, row.role)),
      make(row, "s"), make(row, "d"), h("td", { class: "num quiet" }, percent(row.chance)))))));
}

function cell(run, row, code, place) {
  place.replaceChildren(h("p", { class: "quiet" }, "Looking for the sequences…"));
  return attempt(async () => {
    const classifier = row[`${code}_by`];
    const found = await getJson(`runs/${run.key}/leak/cell?factor=${encodeURIComponent(row.factor)}&code=${code}&classifier=${classifier}`);
    const wanted = (row.role === "static") === (code === "s");
    const note = (one) => h("div", { class: "small quiet" }, `${percent(one.confidence)} sure: ${one.label}`);
    place.replaceChildren(
      h("h2", {}, wanted ? `Sequences whose ${row.factor} is told best by ${code}` : `Sequences whose ${row.factor} leaks most into ${code}`),
      h("p", { class: "quiet small" }, `A ${PROBES[classifier]} that has not seen them is right for ${percent(found.right)} of all sequences.`),
      h("div", { class: run.kind === "video" ? "gallery" : "gallery wide" }, found.sequences.filter((one) => state.items.has(one.id)).map((one) =>
        card(state.items.get(one.id), { extra: note(one) }))));
  }, place);
}
