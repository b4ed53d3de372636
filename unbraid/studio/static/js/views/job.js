// One training: losses and a swap while it goes on; stop, go on, open.

import { getJson, post } from "../parts/api.js";
import { attempt, h } from "../parts/dom.js";
import { player } from "../media/player.js";
import { lineChart } from "./curves.js";

const KEPT = 8; // earlier swaps that stay
const WORDS = { running: "training", finished: "finished", stopped: "stopped", failed: "failed" };

/** A panel that follows a training. */
export function jobPanel(job, refresh) {
  const view = { logs: { log: [], validation: [] }, job };
  const status = h("span", { class: "state", role: "status" });
  const chart = h("div", {});
  const preview = h("div", { class: "stack tight" });
  const error = h("p", { class: "failure small" });
  const buttons = h("div", { class: "row" });
  const element = h("article", { class: "panel stack tight", "data-job": job.id }, h("div", { class: "row spread" }, h("h2", {}, `${job.title} · ${job.method}`), status), error, chart, preview, buttons);
  const told = (facts) => {
    view.job = facts;
    status.className = `state ${facts.state}`;
    status.textContent = WORDS[facts.state];
    error.textContent = facts.error;
    buttons.replaceChildren(...controls(view, refresh, follow));
  };
  const draw = () => {
    const line = (name, log) => ({ name, x: view.logs[log].map((row) => row.step), y: view.logs[log].map((row) => row.loss ?? null) });
    chart.replaceChildren(lineChart("loss", [line("training", "log"), line("validation", "validation")]));
  };
  const follow = () => listen(view, { told, draw, weights: (news) => showSwap(preview, news, view) });
  told(job);
  follow();
  return element;
}

function listen(view, { told, draw, weights }) {
  view.source?.close();
  const source = new EventSource(`api/jobs/${view.job.id}/events`);
  view.source = source;
  view.logs = { log: [], validation: [] };
  const on = (name, handle) => source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
  on("rows", (news) => { view.logs[news.log].push(...news.rows); draw(); });
  on("restart", (news) => { view.logs[news.log] = []; });
  on("state", told);
  on("weights", weights);
  on("end", (facts) => { told(facts); source.close(); });
  source.addEventListener("open", () => { view.logs = { log: [], validation: [] }; });
  addEventListener("hashchange", () => source.close(), { once: true });
}

function controls(view, refresh, follow) {
  const act = (path, body) => attempt(async () => { view.job = await post(`jobs/${view.job.id}/${path}`, body); follow(); });
  const more = h("input", { type: "number", min: 0, step: "any", value: "", placeholder: "as before", "aria-label": "Minutes altogether" });
  const open = h("button", { class: "button", type: "button", onclick: async () => { await refresh(view.job.key); location.hash = "swap"; } }, "Open");
  if (view.job.state === "running") return [h("button", { class: "button", type: "button", onclick: () => act("stop") }, "Stop"), view.job.key && open].filter(Boolean);
  const resume = h("button", { class: "button", type: "button", onclick: () => act("resume", { minutes: Number(more.value) || 0 }) }, "Go on");
  return [view.job.key && open, resume, h("label", { class: "row" }, "minutes altogether", more)].filter(Boolean);
}

/** A swap by the newest weights, with earlier ones beside it. */
function showSwap(place, news, view) {
  if (!news.key) return;
  attempt(async () => {
    view.run ??= await getJson(`runs/${news.key}`);
    if (view.run.items.length < 2) return;
    const run = { ...view.run, version: news.version };
    const [a, b] = [run.items[0].id, run.items[Math.min(7, run.items.length - 1)].id];
    const step = view.logs.log.at(-1)?.step;
    const made = player(run, { s: a, d: b }, { words: `Swap after ${step ?? 0} steps`, caption: step ? `step ${step}` : "first weights" });
    if (!view.history) {
      view.history = h("div", { class: "history" });
      place.replaceChildren(h("p", { class: "small quiet" }, "s of the first, d of the second test sequence, while it learns:"),
        view.history);
      view.history.append(player(run, { x: a }, { words: "source of s", caption: "source of s" }), player(run, { x: b }, { words: "source of d", caption: "source of d" }));
    }
    view.history.append(made);
    if (view.history.children.length > KEPT + 2) view.history.children[2].remove();
    view.history.scrollLeft = view.history.scrollWidth;
  });
}
