// Elements from code. Text only ever becomes text nodes, so that no label is read as markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.setAttribute("class", value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** An HTML element: h("button", {class: "main", onclick: run}, "Start"). */
export function h(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** An SVG element. */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** Buttons of which one is pressed. `options` are [value, text] pairs. */
export function segment(label, options, value, onchange) {
  const buttons = options.map(([key, text]) =>
    h("button", { type: "button", "aria-pressed": String(key === value), onclick: () => press(key) }, text));
  function press(key) {
    options.forEach(([other], i) => buttons[i].setAttribute("aria-pressed", String(other === key)));
    onchange(key);
  }
  return h("div", { class: "segment", role: "group", "aria-label": label }, buttons);
}

/** A labelled list of choices. `options` are [value, text] pairs. */
export function choice(label, options, value, onchange) {
  const list = h("select", { onchange: () => onchange(list.value) },
    options.map(([key, text]) => h("option", { value: key, selected: key === value }, text)));
  return h("label", {}, label, list);
}

/** Say something to screen readers. */
export function announce(text) {
  document.getElementById("announce").textContent = text;
}

/** Show a sentence for a while; errors stay longer. */
export function toast(text, bad = false) {
  const note = h("div", { class: bad ? "toast bad" : "toast" }, text);
  document.getElementById("toasts").append(note);
  setTimeout(() => note.remove(), bad ? 9000 : 4000);
}

/** Run an asynchronous function; what it throws is shown in `place`, or as a toast. */
export async function attempt(work, place = null) {
  try {
    return await work();
  } catch (error) {
    if (error.name === "AbortError") return undefined;
    if (place) place.replaceChildren(h("p", { class: "quiet" }, error.message));
    else toast(error.message, true);
    return undefined;
  }
}
