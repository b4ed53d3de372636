// Audio: a spectrogram with a button to listen.

import { address, page } from "../parts/api.js";
import { h, toast } from "../parts/dom.js";
import { loadImage, mediaAddress } from "./player.js";

let current = null; // one sound at a time

/** A spectrogram; the sound is made when it is first asked for. */
export async function spectrogram(run, recipe, { words }) {
  const image = await loadImage(mediaAddress(run, recipe, page ? "webp" : "png"), `Spectrogram: ${words}`);
  const source = run.sound ? address(run, recipe, page ? "flac" : "wav") : undefined;
  if (!source) return [image];
  const head = h("i", { class: "head" });
  const button = h("button", { class: "listen", type: "button", "aria-label": `Listen: ${words}`, title: "Listen" }, "▶");
  button.addEventListener("click", (event) => {
    event.stopPropagation();
    listen(source, button, head);
  });
  return [image, head, button];
}

function listen(source, button, head) {
  const wasMine = current?.button === button;
  current?.stop();
  if (wasMine) return;
  const sound = new Audio(source);
  const stop = () => {
    sound.pause();
    button.textContent = "▶";
    head.style.opacity = "0";
    if (current?.button === button) current = null;
  };
  current = { button, stop };
  button.textContent = "■";
  sound.addEventListener("ended", stop);
  sound.addEventListener("error", () => { stop(); toast("The sound could not be made.", true); });
  const follow = () => {
    if (current?.button !== button) return;
    head.style.opacity = "0.85";
    head.style.left = `${100 * sound.currentTime / (sound.duration || 1)}%`;
    requestAnimationFrame(follow);
  };
  sound.play().then(follow, stop);
}
