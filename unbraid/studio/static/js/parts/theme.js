// Light, dark, or as the system has it.

const ORDER = ["auto", "light", "dark"];
const NAMES = { auto: "Theme: as the system", light: "Theme: light", dark: "Theme: dark" };
const SIGNS = { auto: "◐", light: "☀", dark: "☾" };

function read() {
  try {
    return localStorage.getItem("unbraid-theme") ?? "auto";
  } catch {
    return "auto"; // storage may be forbidden
  }
}

function apply(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("unbraid-theme", theme);
  } catch { /* it is forgotten, no more */ }
}

/** A button that goes through the themes. */
export function themeButton(h) {
  let theme = read();
  const button = h("button", { class: "button plain icon", type: "button", onclick: next });
  function show() {
    apply(theme);
    button.textContent = SIGNS[theme];
    button.setAttribute("aria-label", NAMES[theme]);
    button.title = NAMES[theme];
  }
  function next() {
    theme = ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length];
    show();
  }
  show();
  return button;
}
