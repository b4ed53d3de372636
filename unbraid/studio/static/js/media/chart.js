// Series: small multiples, one line per channel, gaps shaded.

import { getJson, page, query } from "../parts/api.js";
import { svg } from "../parts/dom.js";
import { mediaAddress } from "./player.js";

const WIDTH = 240;
const HEIGHT = 34;
const MOST = 8;

/** Charts of the first channels of a sequence. */
export async function chart(run, recipe, { words }) {
  const found = page ? page.media[`json?${query(recipe)}`] : await getJson(mediaAddress(run, recipe, "json").replace(/^api\//, ""));
  if (!found) throw new Error("Not part of this page.");
  const shown = found.values.slice(0, MOST);
  const height = HEIGHT * shown.length;
  const tone = recipe.x ? "original" : "made";
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": `Chart: ${words}`, class: tone });
  shown.forEach((values, i) => picture.append(channel(values, run.channels[i] ?? `channel ${i}`, run.ranges[i] ?? [-3, 3], i * HEIGHT)));
  return [picture];
}

function channel(values, name, [low, high], top) {
  const known = values.filter((value) => value !== null);
  const from = Math.min(low, ...known);
  const range = Math.max(high, ...known) - from || 1;
  const x = (i) => (WIDTH * (i + 0.5)) / values.length;
  const y = (value) => top + HEIGHT - 4 - ((HEIGHT - 16) * (value - from)) / range;
  const group = svg("g", {}, svg("title", {}, name));
  group.append(...gaps(values, top));
  group.append(svg("line", { class: "axis", x1: 0, x2: WIDTH, y1: top + HEIGHT - 1, y2: top + HEIGHT - 1 }));
  let path = "";
  values.forEach((value, i) => {
    if (value === null) return;
    path += `${i && values[i - 1] !== null ? "L" : "M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
    if (values[i - 1] === null && (values[i + 1] ?? null) === null) path += "h.1"; // a point alone
  });
  group.append(svg("path", { class: "line", d: path, "stroke-linecap": "round" }));
  group.append(svg("text", { class: "chart-name", x: 2, y: top + 10 }, name));
  return group;
}

function gaps(values, top) {
  const width = WIDTH / values.length;
  return values.flatMap((value, i) => (value === null
    ? [svg("rect", { class: "gap", x: i * width, y: top, width: width + 0.3, height: HEIGHT - 1 })] : []));
}
