// The treemap: nested areas, which show everything at once.

import { boxColour, growthColour, isDark, themed } from "./colour.js";
import { el, fill, fitted, prepare } from "./dom.js";
import { bySize, stepFrom } from "./flame.js";
import { squares } from "./squares.js";
import { TEXT } from "./text.js";

const TITLE = 17;
const SMALLEST = 22;
const DEEPEST = 60;

export class TreemapView {
  constructor(page) {
    this.page = page;
    this.canvas = el("canvas", { class: "treemap", tabindex: 0, role: "img" });
    this.tip = el("div", { class: "tip", hidden: true });
    this.crumbs = el("nav", { class: "crumbs", "aria-label": TEXT.callers });
    this.holder = el("div", { class: "treemap-holder" }, this.canvas, this.tip);
    this.said = el("p", { class: "visually-hidden", "aria-live": "polite" });
    this.element = el("div", { class: "treemap-view" }, this.crumbs, this.holder, this.said);
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
    this.canvas.addEventListener("click", (event) => {
      const area = this.at(event.offsetX, event.offsetY);
      if (!area) return;
      this.page.select(this.shown.tree, area.node);
      this.page.update({ focus: area.node });
    });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.update()).observe(this.holder);
  }

  /** Arrow keys move between areas as between the boxes of the flame graph, Enter zooms in. */
  key(event) {
    const { tree, width: size } = this.shown ?? {};
    if (!tree || (event.key !== "Enter" && !event.key.startsWith("Arrow"))) return;
    event.preventDefault();
    event.stopPropagation();
    const { selection, state } = this.page;
    // An area stands for all nodes of a chain, and is identified by the last one.
    const at = this.lastOfChain(selection?.tree === tree ? selection.node : state.focus < tree.length ? state.focus : 0);
    if (event.key === "Enter") return this.page.update({ focus: at });
    let from = at;
    if (event.key !== "ArrowDown") while (from !== 0 && this.lastOfChain(tree.parent[from]) === at) from = tree.parent[from];
    const next = stepFrom(tree, size, from, event.key);
    if (next === undefined) return;
    this.page.select(tree, this.lastOfChain(next));
    this.said.textContent = `${this.page.name(tree.label[this.lastOfChain(next)]).short}: ${this.sum(next)}`;
  }

  update() {
    const { clientWidth: width, clientHeight: height } = this.holder;
    if (width < 50 || height < 50) return;
    const { page } = this;
    this.shown = page.shown();
    const { tree } = this.shown;
    const focus = page.state.focus < tree.length ? page.state.focus : 0;
    this.areas = this.layout(focus, { x: 0, y: 0, width, height });
    this.draw(prepare(this.canvas, width, height));
    const crumb = (node) => el("button", { class: "plain", onclick: () => page.update({ focus: node }) }, page.name(tree.label[node]).short);
    const path = tree.path(focus).reverse().slice(-7);
    fill(this.crumbs, el("strong", {}, this.sum(focus)), path.map((node, index) => [el("span", { class: "quiet" }, index ? " › " : TEXT.of), crumb(node)]));
    this.canvas.setAttribute("aria-label", TEXT.treemap(page.title(), this.sum(focus)));
  }

  /** Areas from the outermost inwards; what a function has itself is left empty in its area. */
  layout(focus, whole) {
    const { tree, width: size } = this.shown;
    const areas = [];
    const ahead = [{ node: focus, depth: 0, ...whole }];
    while (ahead.length) {
      const area = ahead.shift();
      area.node = this.lastOfChain(area.node);
      areas.push(area);
      const inner = { x: area.x + 2, y: area.y + TITLE, width: area.width - 4, height: area.height - TITLE - 2 };
      if (inner.width < SMALLEST || inner.height < SMALLEST || area.depth > DEEPEST) continue;
      const children = bySize(tree, size, area.node);
      const scale = (inner.width * inner.height) / size[area.node];
      const seen = children.filter((child) => size[child] * scale >= 9);
      const sum = seen.reduce((total, child) => total + size[child], 0);
      const rest = size[area.node] - sum;
      const sizes = seen.map((child) => size[child]);
      // The remainder is placed by its size, so that the others stay in order.
      const place = rest > 0 ? sizes.findIndex((value) => value < rest) : -1;
      const [nodes, all] = [seen.slice(), sizes.slice()];
      if (rest > 0) {
        nodes.splice(place < 0 ? nodes.length : place, 0, -1);
        all.splice(place < 0 ? all.length : place, 0, rest);
      }
      squares(all, inner).forEach((square, index) => {
        if (nodes[index] >= 0) ahead.push({ node: nodes[index], depth: area.depth + 1, ...square });
      });
    }
    return areas;
  }

  /** The last node of a chain of only children: all its nodes have the same area. */
  lastOfChain(node) {
    const { tree, width: size } = this.shown;
    for (;;) {
      const only = tree.childrenOf(node).find((child) => size[child] === size[node]);
      if (only === undefined) return node;
      node = only;
    }
  }

  draw(context) {
    const { page } = this;
    const { tree, value, width, signed: isSigned } = this.shown;
    const dark = isDark();
    const [text, line, match] = [themed("text"), themed("surface"), themed("match")];
    context.font = `11px ${themed("font")}`;
    context.textBaseline = "middle";
    for (const area of this.areas) {
      const label = tree.label[area.node];
      const isMatch = page.matches?.[label] === 1;
      const colour = isSigned ? growthColour(value[area.node] / (width[area.node] || 1), dark) : boxColour(page.data.describe(label), dark);
      context.fillStyle = isMatch ? match : colour;
      context.fillRect(area.x, area.y, area.width, area.height);
      context.strokeStyle = page.selection?.tree === tree && page.selection.node === area.node ? themed("accent") : line;
      context.lineWidth = 1;
      context.strokeRect(area.x + 0.5, area.y + 0.5, Math.max(area.width - 1, 0), Math.max(area.height - 1, 0));
      if (area.width < 40 || area.height < TITLE) continue;
      context.fillStyle = isMatch ? themed("on-match") : text;
      const sum = area.width > 190 ? `  ${this.sum(area.node)}` : "";
      context.fillText(fitted(context, page.name(label).short + sum, area.width - 8), area.x + 4, area.y + TITLE / 2);
    }
  }

  sum(node) {
    return this.page.sum(this.shown, node);
  }

  at(x, y) {
    const isIn = (area) => area.x <= x && x < area.x + area.width && area.y <= y && y < area.y + area.height;
    return (this.areas ?? []).findLast(isIn);
  }

  hover(event) {
    const area = this.at(event.offsetX, event.offsetY);
    this.tip.hidden = !area;
    if (!area) return;
    fill(this.tip, el("div", {}, this.page.name(this.shown.tree.label[area.node]).name), el("div", {}, this.sum(area.node)));
    this.tip.style.left = `${Math.min(event.offsetX + 14, Math.max(this.holder.clientWidth - 380, 0))}px`;
    this.tip.style.top = `${event.offsetY + 18}px`;
  }
}
