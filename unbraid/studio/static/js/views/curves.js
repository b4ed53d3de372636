// Lines over steps: losses of one training or of several.

import { h, svg } from "../parts/dom.js";

const WIDTH = 640;
const HEIGHT = 240;
const EDGE = { left: 58, right: 12, top: 12, bottom: 30 };
const COLOURS = ["var(--s)", "var(--d)", "var(--good)", "#9b6cc4", "#c99a12", "#4fb0cf"];
const short = (value) => (Math.abs(value) >= 1000 || (Math.abs(value) < 0.01 && value !== 0) ? value.toExponential(1) : String(Number(value.toPrecision(3))));

/** A chart; `lines` are {name, x, y}, the x in steps. */
export function lineChart(title, lines) {
  const known = lines.map((line) => ({ ...line, points: line.x.map((x, i) => [x, line.y[i]]).filter(([, y]) => y !== null && Number.isFinite(y)) })).filter((line) => line.points.length);
  if (!known.length) return h("p", { class: "quiet" }, "No rows yet.");
  const all = known.flatMap((line) => line.points);
  const late = all.filter(([x]) => x > 0.02 * Math.max(...all.map(([one]) => one)));
  const values = (late.length > 4 ? late : all).map(([, y]) => y).sort((a, b) => a - b);
  const [low, high] = [values[0], values[Math.floor(0.99 * (values.length - 1))]];
  const last = Math.max(...all.map(([x]) => x), 1);
  const x = (value) => EDGE.left + ((WIDTH - EDGE.left - EDGE.right) * value) / last;
  const y = (value) => EDGE.top + (HEIGHT - EDGE.top - EDGE.bottom) * (1 - (Math.min(value, high) - low) / (high - low || 1));
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}: ${known.map((line) => `${line.name} ends at ${short(line.points.at(-1)[1])}`).join("; ")}` });
  for (const value of [low, (low + high) / 2, high]) {
    picture.append(svg("line", { class: "axis", x1: EDGE.left, x2: WIDTH - EDGE.right, y1: y(value), y2: y(value) }),
      svg("text", { class: "chart-name", x: EDGE.left - 6, y: y(value) + 4, "text-anchor": "end" }, short(value)));
  }
  picture.append(svg("text", { class: "chart-name", x: WIDTH - EDGE.right, y: HEIGHT - 8, "text-anchor": "end" }, `step ${last}`), svg("text", { class: "chart-name", x: EDGE.left, y: HEIGHT - 8 }, "0"));
  known.forEach((line, i) => {
    const path = line.points.map(([px, py], k) => `${k ? "L" : "M"}${x(px).toFixed(1)} ${y(py).toFixed(1)}`).join("");
    const drawn = svg("path", { class: "line", d: path });
    drawn.style.color = COLOURS[i % COLOURS.length];
    picture.append(drawn);
  });
  return h("figure", { class: "stack tight" }, h("figcaption", { class: "row spread" }, h("h3", {}, title), legend(known)), picture);
}

function legend(lines) {
  return h("span", { class: "legend" }, lines.map((line, i) => {
    const dot = h("i");
    dot.style.background = COLOURS[i % COLOURS.length];
    return h("span", {}, dot, line.name);
  }));
}
