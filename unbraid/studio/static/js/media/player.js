// A sequence of any kind on the screen.

import { address, getJson, page } from "../parts/api.js";
import { h } from "../parts/dom.js";
import { film } from "./film.js";
import { spectrogram } from "./spectrogram.js";
import { chart } from "./chart.js";

const MAKERS = { video: film, audio: spectrogram, series: chart };

/**
 * A figure that shows a sequence.
 * `words` is its alternative text; `mode` "hover" plays only under the pointer or the focus of `host`.
 */
export function player(run, recipe, { words, caption = "", mode = "always", host = null } = {}) {
  const screen = h("div", { class: `screen ${run.kind} waiting` });
  const figure = h("figure", { class: "player" }, screen, caption && h("figcaption", { class: "small quiet" }, caption));
  const options = { words, mode, host: host ?? figure };
  let turn = 0;
  figure.show = async (next, nextWords = words) => {
    const mine = ++turn;
    screen.classList.add("waiting");
    try {
      const made = await MAKERS[run.kind](run, next, { ...options, words: nextWords });
      if (mine !== turn) return; // a later one was asked for meanwhile
      screen.replaceChildren(...made);
    } catch (error) {
      if (mine === turn) screen.replaceChildren(h("p", { class: "failure" }, error.message));
    } finally {
      if (mine === turn) screen.classList.remove("waiting");
    }
  };
  figure.ready = figure.show(recipe);
  return figure;
}

/** The address of a sequence in the form that players use, or a sentence. */
export function mediaAddress(run, recipe, form) {
  const found = address(run, recipe, form);
  if (found === undefined) throw new Error("Not part of this page.");
  return found;
}

/** Load a picture; what the server says against it is thrown. */
export async function loadImage(source, words) {
  const image = new Image();
  image.alt = words;
  image.src = source;
  try {
    await image.decode();
  } catch {
    if (!page) await getJson(source.replace(/^api\//, ""));
    throw new Error("The picture could not be loaded.");
  }
  return image;
}
