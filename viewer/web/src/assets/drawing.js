// Turns a Graphviz drawing into nodes of the page. Only shapes and texts are taken from it, whatever else it
// contains.

import { TEXT } from "./text.js";

const SVG = "http://www.w3.org/2000/svg";

/** Allowed elements, and the attributes that are copied: geometry only. Colours are the page's own. */
const TAKEN = {
  g: ["transform"],
  polygon: ["points"],
  path: ["d"],
  ellipse: ["cx", "cy", "rx", "ry"],
  text: ["x", "y", "text-anchor", "font-size"],
};

/** The characters of geometry attributes. */
const GEOMETRY = /^[\w\s.,()+-]*$/;

/** The visible parts of a drawing. */
const PARTS = ["node", "edge", "graph"];

/** The title of a link without an address: the full name of a function. */
const TITLE = ["http://www.w3.org/1999/xlink", "title"];

/**
 * How saturated a box of Graphviz is, from 0 to 1, and whether it stands for less: as `dot.rs` chooses its colour.
 */
export function heatOf(fill) {
  const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(fill.slice(at, at + 2), 16));
  const [most, least] = [Math.max(red, green, blue), Math.min(red, green, blue)];
  const saturation = most > 0 ? (most - least) / most : 0;
  return { share: Math.max(0, Math.min(1, (saturation - 0.05) / 0.45)), isLess: blue > red };
}

/** The number in the name of a node, such as `f12`. */
export function numberOf(title) {
  return /^f\d{1,9}$/.test(title) ? Number(title.slice(1)) : -1;
}

/** The size of a drawing in points, from its `viewBox`; null if that is invalid. */
export function sizeOf(viewBox) {
  const numbers = (viewBox ?? "").split(/\s+/).map(Number);
  const [, , width, height] = numbers;
  return numbers.length === 4 && width > 0 && height > 0 && numbers.every(Number.isFinite) ? { width, height } : null;
}

/**
 * Converts a drawing; `open` is called with the number of the function that the reader clicks, if `isKnown` accepts
 * it.
 */
export function drawn(text, isKnown, open) {
  const root = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  const size = sizeOf(root.getAttribute("viewBox"));
  if (root.localName !== "svg" || !size) throw new Error(TEXT.graph.lacks.reason);
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
  for (const child of root.children) take(child, svg, { isKnown, open });
  return { svg, size };
}

function take(from, into, functions) {
  // Links, and the groups around them, are dropped themselves; a link's title is the full name.
  if (from.localName === "a" || (from.localName === "g" && !from.hasAttribute("class"))) {
    const title = from.getAttributeNS(...TITLE);
    if (title) into.append(named("title", title));
    for (const child of from.children) take(child, into, functions);
    return;
  }
  const attributes = TAKEN[from.localName];
  if (!attributes) return;
  const made = document.createElementNS(SVG, from.localName);
  for (const name of attributes) {
    const value = from.getAttribute(name);
    if (value !== null && GEOMETRY.test(value)) made.setAttribute(name, value);
  }
  const part = from.localName === "g" && PARTS.find((name) => name === from.getAttribute("class"));
  if (part) made.classList.add(part);
  const width = Number(from.getAttribute("stroke-width"));
  if (width > 0) made.style.strokeWidth = `${width}px`;
  if (into.classList.contains("node") && from.localName === "polygon") {
    const { share, isLess } = heatOf(from.getAttribute("fill") ?? "");
    made.style.setProperty("--share", `${(share * 100).toFixed(1)}%`);
    made.classList.toggle("less", isLess);
  }
  if (part === "node") link(made, numberOf(from.querySelector("title")?.textContent ?? ""), functions);
  if (from.localName === "text") made.textContent = from.textContent;
  else for (const child of from.children) take(child, made, functions);
  into.append(made);
}

function named(tag, text) {
  const made = document.createElementNS(SVG, tag);
  made.textContent = text;
  return made;
}

/** Makes a function selectable, by keyboard as well. */
function link(node, number, { isKnown, open }) {
  node.dataset.function = number;
  if (!isKnown(number)) return;
  node.classList.add("known");
  node.setAttribute("tabindex", "0");
  node.setAttribute("role", "link");
  node.addEventListener("click", () => open(number));
  node.addEventListener("keydown", (event) => event.key === "Enter" && open(number));
}
