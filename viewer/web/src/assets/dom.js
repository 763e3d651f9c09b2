// Creates the page's nodes. Text is always text: nothing here, or anywhere in the page, accepts markup.

/** An element with attributes, handlers (`onclick` …) and children: nodes, texts, or nothing. */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  fill(element, ...children);
  return element;
}

/** Replaces the content of an element. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** A table of rows of cells, for screen readers and small lists; cells of `numbers` are aligned to the right. */
export function table(caption, heads, rows, numbers = new Set()) {
  const cell = (tag) => (content, index) => el(tag, { class: numbers.has(index) && "number", scope: tag === "th" && "col" }, content);
  return el(
    "table",
    {},
    el("caption", {}, caption),
    el("thead", {}, el("tr", {}, heads.map(cell("th")))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map(cell("td"))))),
  );
}

/** A canvas at the resolution of the screen, and its context in pixels of the page. */
export function prepare(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

const widths = new Map();

/** A text cut to a width; empty if not even a few letters fit. */
export function fitted(context, text, width) {
  if (width < 18) return "";
  const key = context.font;
  if (!widths.has(key)) widths.set(key, context.measureText("abcdefghijklmnopqrstuvwxyz_:<>(0123456789").width / 41);
  const letters = Math.floor(width / widths.get(key));
  if (text.length <= letters) return text;
  return letters < 3 ? "" : `${text.slice(0, letters - 1)}…`;
}
