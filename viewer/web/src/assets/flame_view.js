// The flame graph: callers above their callees, each as wide as what it has.

import { boxColour, growthColour, isDark, themed } from "./colour.js";
import { el, fill, fitted, prepare } from "./dom.js";
import { boxAt, boxes, stepFrom } from "./flame.js";
import { flameSvg } from "./svg.js";
import { TEXT } from "./text.js";

const HEIGHT = 20;

/** Browsers cannot draw on higher canvases: anything below is not printed. */
const HIGHEST = 16_000;

export class FlameView {
  /** `said` describes it for those who do not see it. */
  constructor(page, said = TEXT.flame) {
    this.page = page;
    this.describe = said;
    this.canvas = el("canvas", { class: "flame", tabindex: 0, role: "img" });
    this.crumbs = el("nav", { class: "crumbs", "aria-label": TEXT.callers });
    this.tip = el("div", { class: "tip", hidden: true });
    // An element as high as the graph, with the canvas in the visible part: a graph of a hundred rows costs no more
    // than those visible.
    this.space = el("div", { class: "flame-space" }, this.canvas);
    this.scroller = el("div", { class: "flame-scroller", onscroll: () => this.boxes && this.draw() }, this.space, this.tip);
    this.said = el("p", { class: "visually-hidden", "aria-live": "polite" });
    // This element is reused: recreating it would take a fifth of each step's time.
    const save = el("button", { id: "save", title: TEXT.save, onclick: () => this.save() }, TEXT.svg);
    this.element = el("div", { class: "flame-view" }, el("div", { class: "flame-head" }, this.crumbs, save), this.scroller, this.said);
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => this.leave());
    this.canvas.addEventListener("click", (event) => this.click(event));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.update()).observe(this.scroller);
    for (const [event, isPrinting] of [["beforeprint", true], ["afterprint", false]]) {
      window.addEventListener(event, () => {
        this.isPrinting = isPrinting;
        if (this.boxes) this.draw();
      }, { signal: page.left.signal });
    }
  }

  update() {
    const width = this.scroller.clientWidth;
    if (width < 50) return;
    const { page } = this;
    this.shown = page.shown();
    const { tree, width: size } = this.shown;
    this.focus = page.state.focus < tree.length ? page.state.focus : 0;
    this.boxes = boxes(tree, size, this.focus, width);
    const depth = this.boxes.reduce((deepest, box) => Math.max(deepest, box.depth), 0);
    this.width = width;
    this.height = (depth + 1) * HEIGHT + 2;
    this.space.style.height = `${this.height}px`;
    this.draw();
    this.drawCrumbs();
    const { short } = page.name(tree.label[this.focus]);
    this.canvas.setAttribute("aria-label", this.describe(page.title(), short, this.sum(this.focus)));
  }

  /** The height above the canvas in pixels. */
  get above() {
    return this.isPrinting ? 0 : Math.max(0, Math.min(this.scroller.scrollTop, this.height - this.inSight));
  }

  get inSight() {
    return this.isPrinting ? Math.min(this.height, HIGHEST) : Math.min(this.height, Math.max(this.scroller.clientHeight, HEIGHT));
  }

  draw() {
    const { page, above, inSight } = this;
    const { tree } = this.shown;
    const context = prepare(this.canvas, this.width, inSight);
    context.translate(0, -above);
    const [first, last] = [Math.floor(above / HEIGHT), Math.floor((above + inSight) / HEIGHT)];
    const dark = isDark();
    // Looking up a style costs as much as drawing some boxes.
    const [text, onMatch] = ["text", "on-match"].map(themed);
    const paint = this.painter(dark);
    context.font = `12px ${themed("font")}`;
    context.textBaseline = "middle";
    for (const box of this.boxes) {
      if (box.depth < first || box.depth > last) continue;
      const top = box.depth * HEIGHT;
      const width = box.right - box.left;
      const label = box.node < 0 ? -1 : tree.label[box.node];
      const isMatch = this.isMatch(label);
      context.globalAlpha = page.matches && !isMatch ? 0.35 : 1;
      context.fillStyle = paint(box, label);
      context.fillRect(box.left, top, Math.max(width - (width > 3 ? 1 : 0), 0.5), HEIGHT - 1);
      context.globalAlpha = 1;
      if (box.node === page.selection?.node && page.selection.tree === tree) {
        context.strokeStyle = themed("accent");
        context.lineWidth = 2;
        context.strokeRect(box.left + 1, top + 1, Math.max(width - 3, 1), HEIGHT - 3);
      }
      if (width < 24 || label < 0) continue;
      context.fillStyle = isMatch ? onMatch : text;
      context.fillText(fitted(context, page.name(label).short, width - 8), box.left + 4, top + HEIGHT / 2);
    }
  }

  isMatch(label) {
    return this.page.matches !== null && label >= 0 && this.page.matches[label] === 1;
  }

  /** Returns a function from boxes and their labels to colours. */
  painter(dark) {
    const { value, width, signed } = this.shown;
    const [match, grid] = ["match", "grid"].map(themed);
    const colours = new Map();
    return (box, label) => {
      if (label < 0) return grid;
      if (this.isMatch(label)) return match;
      if (signed) return growthColour(value[box.node] / (width[box.node] || 1), dark);
      if (!colours.has(label)) colours.set(label, boxColour(this.page.data.describe(label), dark));
      return colours.get(label);
    };
  }

  /** The graph as an SVG file. */
  svg() {
    const { page } = this;
    const { tree } = this.shown;
    const paint = this.painter(isDark());
    const context = this.canvas.getContext("2d");
    return flameSvg({
      title: `${page.fileName()}: ${page.title()}, ${this.sum(this.focus)}`,
      font: themed("font"),
      colours: { text: themed("text"), surface: themed("surface") },
      boxes: this.boxes,
      width: this.width,
      rowHeight: HEIGHT,
      describe: (box) => {
        if (box.node < 0) return { colour: paint(box, -1), name: "", said: TEXT.narrow };
        const label = tree.label[box.node];
        const { name, short } = page.name(label);
        return { colour: paint(box, label), name: fitted(context, short, box.right - box.left - 8), said: `${name}: ${this.sum(box.node)}` };
      },
    });
  }

  /** Saves the graph as a file. */
  save() {
    if (!this.boxes) return;
    const address = URL.createObjectURL(new Blob([this.svg()], { type: "image/svg+xml" }));
    el("a", { href: address, download: `${this.page.fileName()}.svg` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  /** What a node has, for people. */
  sum(node) {
    return this.page.sum(this.shown, node);
  }

  drawCrumbs() {
    const { page } = this;
    const { tree } = this.shown;
    const path = tree.path(this.focus).reverse();
    const most = 8;
    const shown = path.length > most ? [path[0], ...path.slice(-most + 1)] : path;
    const crumb = (node, index) => [
      el("span", { class: "quiet" }, index === 0 ? TEXT.of : index === 1 && path.length > most ? " … " : " › "),
      el("button", { class: "plain", onclick: () => page.update({ focus: node }), "aria-current": node === this.focus && "true" }, page.name(tree.label[node]).short),
    ];
    fill(this.crumbs, el("strong", {}, this.sum(this.focus)), shown.map(crumb), page.matches && el("span", { class: "matched" }, page.matched()));
  }

  hover(event) {
    const box = this.at(event);
    this.canvas.style.cursor = box ? "pointer" : "default";
    this.tip.hidden = !box;
    if (!box) return;
    const { tree } = this.shown;
    const lines = box.node < 0 ? [TEXT.narrow] : [this.page.name(tree.label[box.node]).name, this.sum(box.node)];
    if (box.node >= 0) {
      const { module } = this.page.data.describe(tree.label[box.node]);
      if (module) lines.push(module);
    }
    fill(this.tip, lines.map((line) => el("div", {}, line)));
    const { clientWidth } = this.scroller;
    this.tip.style.left = `${Math.min(event.offsetX + 14, Math.max(clientWidth - 380, 0))}px`;
    this.tip.style.top = `${this.above + event.offsetY + 18}px`;
  }

  /** The box under the pointer. */
  at(event) {
    return boxAt(this.boxes ?? [], event.offsetX, this.above + event.offsetY, HEIGHT);
  }

  leave() {
    this.tip.hidden = true;
  }

  click(event) {
    const box = this.at(event);
    if (box && box.node >= 0) this.go(box.node, box.node);
  }

  go(node, focus) {
    this.page.select(this.shown.tree, node);
    this.page.update({ focus });
    this.said.textContent = `${this.page.name(this.shown.tree.label[node]).short}: ${this.sum(node)}`;
  }

  /** Arrow keys move between boxes, Enter zooms in, Escape zooms out. */
  key(event) {
    const { tree, width } = this.shown;
    const { selection } = this.page;
    const at = selection?.tree === tree ? selection.node : this.focus;
    if (event.key === "Enter") return void this.go(at, at);
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    event.stopPropagation();
    const next = stepFrom(tree, width, at, event.key);
    if (next === undefined) return;
    const isInside = tree.path(next).includes(this.focus);
    this.go(next, isInside ? this.focus : next);
    this.reveal(tree.depth(next));
  }

  /** Scrolls a row of the graph into view. */
  reveal(depth) {
    const { scroller } = this;
    const [top, bottom] = [depth * HEIGHT, (depth + 1) * HEIGHT];
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (bottom > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = bottom - scroller.clientHeight;
  }
}
