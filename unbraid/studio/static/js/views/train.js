// Train: choose data, see what is in them, start.

import { getJson, post } from "../parts/api.js";
import { attempt, choice, h, segment, toast } from "../parts/dom.js";
import { jobPanel } from "./job.js";

export const title = "Train";

/** Fill the view. */
export async function show(root, { runs, refresh }) {
  const [offer, jobs] = await Promise.all([getJson("data"), getJson("jobs")]);
  const list = h("div", { class: "stack", "aria-label": "Trainings" });
  const empty = h("p", { class: "quiet" }, "Trainings appear here. They go on when this page or the studio is closed.");
  const given = runs.find((run) => run.data)?.data ?? "";
  const form = trainingForm(offer, given, (job) => { empty.remove(); list.prepend(jobPanel(job, refresh)); });
  list.append(...jobs.map((job) => jobPanel(job, refresh)));
  if (!jobs.length) list.append(empty);
  root.append(h("h1", {}, "Train"), h("div", { class: "train" }, form, list));
}

function trainingForm(offer, given, started) {
  const wish = { data: given, method: "", minutes: 5, sets: [] };
  const chosen = h("p", { class: "small", role: "status" });
  const findings = h("div", { class: "stack tight", "aria-live": "polite" });
  const start = h("button", { class: "button main", type: "button", disabled: true, onclick: begin }, "Start training");
  const sets = h("textarea", { rows: 2, spellcheck: "false", placeholder: "method.static_dim=64", onchange: () => { wish.sets = sets.value.split("\n").map((line) => line.trim()).filter(Boolean); if (wish.data) check(); } });
  const minutes = h("input", { type: "number", min: 0.1, step: "any", value: wish.minutes, onchange: () => { wish.minutes = Number(minutes.value); } });
  const places = h("div", { class: "choices" });
  const pick = (data) => { wish.data = data; check(); };
  const show = (kind) => (kind === "sets" ? showSets(places, offer.sets, pick) : showFolder(places, "", pick));
  async function check() {
    chosen.replaceChildren("Data: ", h("b", {}, wish.data));
    start.disabled = true;
    findings.replaceChildren(h("p", { class: "quiet" }, "Examining the data…"), h("progress", { "aria-label": "Examining" }));
    const asked = wish.data;
    await attempt(async () => {
      const found = await post("data/check", wish);
      if (asked !== wish.data) return;
      findings.replaceChildren(...checkWords(found));
      start.disabled = !found.ready;
    }, findings);
  }
  async function begin() {
    start.disabled = true;
    const job = await attempt(() => post("jobs", wish));
    if (job) { started(job); toast("The training has started."); }
    start.disabled = false;
  }
  show("sets");
  if (given) check();
  return h("section", { class: "panel stack", "aria-label": "New training" }, h("h2", {}, "Data"),
    segment("Where the data are", [["sets", "Data sets"], ["files", "Your files"]], "sets", show), places, chosen, findings,
    h("div", { class: "row end" }, choice("Method", [["", "recommended"], ...offer.methods.map((one) => [one.name, one.label])], "", (name) => { wish.method = name; }), h("label", {}, "Minutes at most", minutes)),
    h("details", {}, h("summary", { class: "quiet" }, "Settings"), h("label", {}, "One per line, name=value", sets)), start);
}

function showSets(places, sets, pick) {
  const press = (button, name) => {
    for (const other of places.children) other.setAttribute("aria-pressed", String(other === button));
    pick(name);
  };
  places.replaceChildren(...sets.map((set) => {
    const button = h("button", { type: "button", "aria-pressed": "false", onclick: () => press(button, set.name) },
      h("span", {}, h("b", {}, set.name), " ", h("span", { class: "chip" }, set.kind)), h("span", { class: "small quiet" }, set.about));
    return button;
  }));
}

function showFolder(places, path, pick) {
  return attempt(async () => {
    const found = await getJson(`data/folder?path=${encodeURIComponent(path)}`);
    const go = (to) => showFolder(places, to, pick);
    const up = found.path && h("button", { type: "button", onclick: () => go(found.parent) }, "↑ up");
    const use = found.path && h("button", { type: "button", class: "button", onclick: () => pick(found.path) }, "Use this folder");
    places.replaceChildren(...[use, up].filter(Boolean), ...found.entries.map((entry) =>
      h("button", { type: "button", onclick: () => (entry.folder ? go(entry.path) : pick(entry.path)) }, `${entry.folder ? "▸ " : ""}${entry.name}`)));
    if (!found.entries.length) places.append(h("p", { class: "quiet small" }, "Nothing here that can be read as sequences."));
  }, places);
}

function checkWords(found) {
  const parts = Object.entries(found.contents?.parts ?? {}).map(([name, part]) => `${part.sequences.toLocaleString("en")} ${name}`);
  const shape = found.contents ? `${found.contents.kind}, ${found.contents.length} steps; ${parts.join(", ")} sequences.` : "";
  return [h("p", {}, h("b", { class: `state ${found.ready ? "finished" : "failed"}` }, found.ready ? "Ready to train. " : "Cannot be trained on. "), shape),
    ...found.findings.map((one) => h("div", { class: "finding" }, h("span", { class: one.level }, one.level), h("span", {}, one.what, one.do && h("span", { class: "quiet" }, ` ${one.do}`))))];
}
