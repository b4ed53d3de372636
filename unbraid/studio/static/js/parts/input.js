// People's own files: dropped anywhere on the page, or chosen.

import { post } from "./api.js";
import { attempt, h, toast } from "./dom.js";
import { addItems, state } from "./state.js";

const LARGEST = 64e6;

/** Send files to the opened run; true if one was taken. */
export async function sendFiles(files) {
  const { run } = state;
  if (!run?.trained) {
    toast("Open a trained run first: its model encodes your file.", true);
    return false;
  }
  let taken = false;
  for (const file of files) {
    if (file.size > LARGEST) {
      toast(`${file.name} has ${(file.size / 1e6).toFixed(0)} MB, at most 64 can be sent.`, true);
      continue;
    }
    toast(`Reading ${file.name}…`);
    const answer = await attempt(() => post(`runs/${run.key}/items?name=${encodeURIComponent(file.name)}`, file));
    if (!answer) continue;
    addItems(answer.items);
    toast(`${file.name}: ${answer.items.length} ${answer.items.length === 1 ? "sequence" : "sequences"} added.`);
    taken = true;
  }
  return taken;
}

/** A button that lets files be chosen. */
export function fileButton(done) {
  const input = h("input", { type: "file", multiple: true, class: "sr", tabindex: "-1", "aria-label": "Your own files", accept: state.run.reads.join(",") });
  input.addEventListener("change", async () => { if (await sendFiles(input.files)) done(); });
  const button = h("button", { class: "button", type: "button", onclick: () => input.click(), title: `Reads ${state.run.reads.join(", ")}` }, "+ Your own file");
  return h("span", {}, button, input);
}

/** Let files be dropped on the page. */
export function watchDrops(done) {
  const isFile = (event) => event.dataTransfer?.types.includes("Files");
  let note = null;
  const hide = () => { note?.remove(); note = null; };
  addEventListener("dragover", (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    if (note) return;
    note = h("div", { class: "drop-note" }, "Drop it: it will be encoded and can be swapped");
    document.body.append(note);
  });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) hide(); });
  addEventListener("drop", async (event) => {
    hide();
    if (!isFile(event)) return;
    event.preventDefault();
    if (await sendFiles(event.dataTransfer.files)) done();
  });
}
