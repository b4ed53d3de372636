// Video: a film strip, drawn frame by frame on a canvas.

import { page } from "../parts/api.js";
import { join } from "../parts/clock.js";
import { h } from "../parts/dom.js";
import { loadImage, mediaAddress } from "./player.js";

const COLUMNS = 16; // frames in a row of a strip, as the server writes them
const REST = 3; // frames for which the last one stays

/** How many steps a recipe decodes to. */
export function stepsOf(run, recipe) {
  const source = recipe.x ?? recipe.d;
  const item = run.items.find((one) => one.id === source);
  return item ? item.steps : run.length;
}

/** A canvas that plays a sequence. */
export async function film(run, recipe, { words, mode, host }) {
  const image = await loadImage(mediaAddress(run, recipe, page ? "webp" : "png"), words);
  const [, height, width] = run.frame;
  const rows = Math.round(image.naturalHeight / height);
  const columns = Math.round(image.naturalWidth / width);
  const steps = Math.min(stepsOf(run, recipe), rows * Math.min(columns, COLUMNS));
  const canvas = h("canvas", { width, height, role: "img", "aria-label": words });
  const pen = canvas.getContext("2d");
  let shown = -1;
  const draw = (step) => {
    if (step === shown) return;
    shown = step;
    pen.drawImage(image, (step % columns) * width, Math.floor(step / columns) * height, width, height, 0, 0, width, height);
  };
  const still = Math.floor(steps / 3);
  draw(still);
  const play = (seconds) => draw(Math.min(steps - 1, Math.floor(seconds * run.rate) % (steps + REST)));
  if (mode === "always") join(canvas, play);
  else onHover(host, canvas, play, () => draw(still));
  return [canvas];
}

/** Play while the pointer or the focus is on `host`. */
export function onHover(host, element, play, rest) {
  let leave = null;
  const begin = () => { leave ??= join(element, play); };
  const end = () => { leave?.(); leave = null; rest(); };
  host.addEventListener("pointerenter", begin);
  host.addEventListener("pointerleave", end);
  host.addEventListener("focusin", begin);
  host.addEventListener("focusout", end);
}
