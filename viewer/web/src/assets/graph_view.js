// The call graph, drawn by Graphviz: by a server for the present view, or once for the page of a file.

import { FUNCTION } from "./data.js";
import { el, fill } from "./dom.js";
import { drawn } from "./drawing.js";
import { Loader } from "./loader.js";
import { drawing } from "./source.js";
import { LEAST, MOST } from "./state.js";
import { TEXT } from "./text.js";

/** Pixels per point of a drawing at its natural size. */
const PIXELS = 4 / 3;

/** A step of the zoom, and its bounds. */
const STEP = 1.25;
const BOUNDS = [0.02, 8];

/** Below this zoom, small letters are unreadable. */
const READABLE = 0.8;

/** Pixels that a pointer may move and still count as a click. */
const STILL = 4;

/** The server's reasons for not drawing, by status. */
const LACKS = { 501: "graphviz", 504: "time", 409: "grown" };

export class GraphView {
  constructor(page) {
    this.page = page;
    const choice = (field, name, values, write) =>
      el("label", {}, name, " ", el("select", { id: field, onchange: (event) => page.update({ [field]: event.target.value }) }, values.map((value) => el("option", { value }, write(value)))));
    this.cuts = el("span", { class: "tools-group" }, choice("least", TEXT.graph.least, LEAST, (share) => `${share} %`), choice("most", TEXT.graph.most, MOST, TEXT.graph.functions));
    const zoom = el(
      "span",
      { class: "joined" },
      el("button", { id: "smaller", title: TEXT.graph.smaller, "aria-label": TEXT.graph.smaller, onclick: () => this.zoomBy(1 / STEP) }, "−"),
      el("button", { id: "fit", title: TEXT.graph.fitHelp, onclick: () => this.fit() }, TEXT.graph.fit),
      el("button", { id: "larger", title: TEXT.graph.larger, "aria-label": TEXT.graph.larger, onclick: () => this.zoomBy(STEP) }, "+"),
    );
    const save = el("button", { id: "save-graph", title: TEXT.save, onclick: () => this.save() }, TEXT.svg);
    this.tools = el("span", { class: "tools-group" }, zoom, save);
    this.said = el("span", { class: "quiet", role: "status" });
    this.holder = el("div", { class: "drawing", tabindex: 0, role: "group" });
    this.element = el("div", { class: "graph-view" }, el("div", { class: "tools" }, this.cuts, this.tools, this.said), this.holder);
    this.holder.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.holder.addEventListener("pointerdown", (event) => this.drag(event));
    this.holder.addEventListener("click", (event) => this.moved && event.stopPropagation(), { capture: true });
    this.loader = new Loader(
      (question, signal) => drawing(question, signal),
      (text) => this.show(text),
      (error) => this.lack(TEXT.graph.lacks[LACKS[error.status]] ?? error.message),
      page.left.signal,
    );
  }

  update() {
    const { page } = this;
    const { state } = page;
    this.cuts.hidden = !page.canAsk;
    for (const field of ["least", "most"]) this.cuts.querySelector(`#${field}`).value = state[field];
    const measure = page.canAsk ? page.title() : TEXT.metrics.peak.name;
    this.holder.setAttribute("aria-label", TEXT.graph.said(measure));
    if (!page.canAsk) return this.showOwn();
    const question = this.question();
    if (question === this.asked) return;
    this.asked = question;
    this.said.textContent = TEXT.graph.drawing;
    this.holder.setAttribute("aria-busy", "true");
    this.loader.ask(question);
  }

  /** The query for the drawing, in the server's terms. */
  question() {
    const { state, data } = this.page;
    const words = { slices: data.slices };
    for (const field of ["from", "to", "metric", "unit", "a", "b", "least", "most"]) words[field] = state[field];
    if (state.metric === "during") words.mark = state.mark;
    return new URLSearchParams(words).toString();
  }

  /** Shows the drawing that is part of the page. */
  showOwn() {
    if (this.text !== undefined || this.isLacking) return;
    const { svg, lacks } = this.page.data.head.drawing ?? {};
    if (svg) this.show(svg);
    else this.lack(lacks === "graphviz" ? TEXT.graph.lacks.page : TEXT.graph.lacks[lacks ?? "reason"]);
  }

  show(text) {
    const { page } = this;
    const label = (number) => page.data.labelOf(number);
    const isKnown = (number) => label(number) >= 0 && page.data.describe(label(number)).kind === FUNCTION;
    try {
      const { svg, size } = drawn(text, isKnown, (number) => page.update({ view: "function", function: label(number) }));
      Object.assign(this, { text, svg, size });
    } catch (error) {
      this.lack(error.message);
      return;
    }
    this.isLacking = false;
    this.tools.hidden = false;
    this.holder.removeAttribute("aria-busy");
    const isEmpty = !this.svg.querySelector(".node");
    const remark = page.canAsk ? page.isCompared() && TEXT.graph.alone : TEXT.graph.whole;
    // The first line names the file; the others say what is drawn, and how much of it.
    const [, ...head] = Array.from(this.svg.querySelectorAll(".graph > text"), (line) => line.textContent);
    fill(this.said, `${head.join("; ")}. `, isEmpty ? TEXT.graph.nothing : TEXT.graph.open, remark && ` ${remark}`);
    fill(this.holder, this.svg);
    this.begin();
  }

  /** Shows why there is no drawing. */
  lack(reason) {
    Object.assign(this, { isLacking: true, text: undefined, svg: null });
    this.tools.hidden = true;
    this.said.textContent = "";
    this.holder.removeAttribute("aria-busy");
    fill(this.holder, el("p", { class: "lacks" }, reason));
  }

  // Zoom.

  /** Zooms to a readable size, at the function that has most. */
  begin() {
    this.zoomTo(Math.max(READABLE, this.zoomToFit()));
    const first = this.svg.querySelector(".node");
    if (!first) return;
    const { holder } = this;
    const [of, window] = [first.getBoundingClientRect(), holder.getBoundingClientRect()];
    holder.scrollLeft += of.left + of.width / 2 - window.left - window.width / 2;
    holder.scrollTop += of.top - window.top - window.height / 8;
  }

  zoomToFit() {
    return Math.min(1, (this.holder.clientWidth - 2) / (this.size.width * PIXELS));
  }

  /** Zooms to the available width, but never beyond the natural size. */
  fit() {
    if (this.svg) this.zoomTo(this.zoomToFit());
  }

  zoomTo(zoom) {
    this.zoom = Math.max(BOUNDS[0], Math.min(BOUNDS[1], zoom));
    this.svg.style.width = `${(this.size.width * PIXELS * this.zoom).toFixed(0)}px`;
    this.svg.style.height = `${(this.size.height * PIXELS * this.zoom).toFixed(0)}px`;
  }

  /** Zooms such that the given point of the window stays in place. */
  zoomBy(factor, [x, y] = [this.holder.clientWidth / 2, this.holder.clientHeight / 2]) {
    if (!this.svg) return;
    const { holder } = this;
    const before = this.zoom;
    const [left, top] = [holder.scrollLeft + x, holder.scrollTop + y];
    this.zoomTo(before * factor);
    holder.scrollLeft = (left * this.zoom) / before - x;
    holder.scrollTop = (top * this.zoom) / before - y;
  }

  wheel(event) {
    if (!event.ctrlKey || !this.svg) return;
    event.preventDefault();
    const { left, top } = this.holder.getBoundingClientRect();
    this.zoomBy(event.deltaY < 0 ? STEP : 1 / STEP, [event.clientX - left, event.clientY - top]);
  }

  /** Moves the drawing with the pointer; a click selects. */
  drag({ clientX, clientY, button, pointerType }) {
    this.moved = false;
    if (button !== 0 || pointerType !== "mouse") return;
    const { holder } = this;
    const [left, top] = [holder.scrollLeft, holder.scrollTop];
    const stop = new AbortController();
    const move = (event) => {
      const [x, y] = [event.clientX - clientX, event.clientY - clientY];
      this.moved ||= Math.abs(x) > STILL || Math.abs(y) > STILL;
      if (!this.moved) return;
      holder.scrollLeft = left - x;
      holder.scrollTop = top - y;
    };
    window.addEventListener("pointermove", move, { signal: stop.signal });
    window.addEventListener("pointerup", () => stop.abort(), { signal: stop.signal });
  }

  /** Saves the drawing as a file, as Graphviz wrote it. */
  save() {
    if (this.text === undefined) return;
    const address = URL.createObjectURL(new Blob([this.text], { type: "image/svg+xml" }));
    el("a", { href: address, download: `${this.page.fileName()}.graph.svg` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }
}
