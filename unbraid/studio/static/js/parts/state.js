// What is chosen, shared by all views and kept over a reload: the run, and the pair to be swapped.

import { page } from "./api.js";

const listeners = new Set();

/** The opened run (as the server tells it), and the ids of the sequences that give s and d. */
export const state = { run: null, s: "", d: "", items: new Map() };

/** Take another run; a pair that it does not have is chosen anew. */
export function setRun(run) {
  state.run = run;
  state.items = new Map(run.items.map((item) => [item.id, item]));
  const kept = read(run.key);
  const [first, second] = firstPair(run.items);
  state.s = state.items.has(kept.s) ? kept.s : first;
  state.d = state.items.has(kept.d) ? kept.d : second;
}

/** Two sequences that differ in a dynamic factor, if there are labels. */
function firstPair(items) {
  const first = items[0];
  const differs = (item) => Object.values(item.labels).filter((value, i) => value !== Object.values(first.labels)[i]).length;
  const second = items.slice(1, page ? page.swaps.length : 40).sort((a, b) => differs(b) - differs(a))[0];
  return [first?.id ?? "", (second ?? first)?.id ?? ""];
}

/** Choose the sequence that gives s, d, or both. */
export function choose(pair) {
  Object.assign(state, pair);
  try {
    sessionStorage.setItem(`unbraid-pair-${state.run.key}`, JSON.stringify({ s: state.s, d: state.d }));
  } catch { /* it is forgotten, no more */ }
  for (const listener of listeners) listener();
}

function read(key) {
  try {
    return JSON.parse(sessionStorage.getItem(`unbraid-pair-${key}`)) ?? {};
  } catch {
    return {};
  }
}

/** Call a function when the pair changes, for as long as an element is on the page. */
export function onPair(element, listener) {
  const call = () => (element.isConnected ? listener() : listeners.delete(call));
  listeners.add(call);
}

/** Put sequences that were brought before the others. */
export function addItems(items) {
  state.run.items.unshift(...items);
  for (const item of items) state.items.set(item.id, item);
}

/** Whether a sequence can be swapped: with a model, and on an exported page only some. */
export function canSwap(id) {
  return state.run.trained && (!page || page.swaps.includes(id));
}

/** A sequence in words: its name or number and its labels. */
export function describe(item) {
  const labels = Object.entries(item.labels).filter(([, value]) => value !== null).map(([name, value]) => `${name} ${value}`);
  return [item.name || `sequence ${item.id.slice(1)}`, ...labels].join(", ");
}
