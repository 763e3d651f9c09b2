// Details of a selection: its numbers, its source lines, and a stack that leads to it.

import { copyRows, copyText, rowsBelow } from "./copy.js";
import { el, fill } from "./dom.js";
import { endsOf } from "./ends.js";
import { amount, counted, percent, signed } from "./format.js";
import { written } from "./metric.js";
import { mapped, sourceAddress } from "./places.js";
import { TEXT } from "./text.js";

/** Most functions of a stack, and lines, that are shown; a stack may be 10,000 functions deep. */
const MOST_FRAMES = 300;
const MOST_LINES = 12;

/** What a selection has in every measure. */
export function numbersOf(page, selection) {
  const rows = page.metrics.map((metric) => {
    const cells = ["bytes", "blocks"].map((unit) => {
      const { value, signed: isSigned } = page.rowsBy(metric, unit);
      const { total, self } = selection.sum(value);
      const kind = written(page.data, metric, unit);
      const before = page.isCompared(metric) ? selection.sum(page.before(metric, unit)).total : null;
      const sides = before !== null && `${amount(before, kind)} → ${amount(before + total, kind)}`;
      return { text: isSigned ? signed(total, kind) : amount(total, kind), sides, self: self !== 0 ? TEXT.details.self(isSigned ? signed(self, kind) : amount(self, kind)) : "" };
    });
    const isChosen = metric === page.state.metric;
    return el(
      "tr",
      { class: isChosen && "chosen", "data-metric": metric },
      el("th", { scope: "row", title: TEXT.metrics[metric].help }, TEXT.metrics[metric].name),
      cells.map(({ text, sides, self }) => el("td", { class: "number", title: self }, text, sides && el("div", { class: "quiet sides" }, sides))),
    );
  });
  return el("table", { class: "numbers", "aria-label": TEXT.details.numbers }, el("tbody", {}, rows));
}

/** A place in the source, as a link if the page can make one. */
export function placeOf(page, file, line) {
  const { head } = page.data;
  const text = `${page.shortPath(file)}${line ? `:${line}` : ""}`;
  const title = `${mapped(file, head.path_map)}${line ? `:${line}` : ""}`;
  const address = sourceAddress(head.source_url, head.path_map, file, line);
  return address ? el("a", { href: address, title, rel: "noreferrer" }, text) : el("span", { class: "quiet", title }, text);
}

/** The functions of a stack, innermost first; `describe` says how one of them is written, and where it is. */
export function stackList(page, title, frames, describe) {
  const items = frames.slice(0, MOST_FRAMES).map((frame) => {
    const { short, name, className, file, line, inlined, isSelected } = describe(frame);
    return el("li", { class: isSelected && "selected" }, el("span", { class: className, title: name }, short), inlined && el("span", { class: "quiet" }, TEXT.details.inlined), file && [" ", placeOf(page, file, line)]);
  });
  const more = frames.length > MOST_FRAMES && el("p", { class: "quiet" }, counted(frames.length - MOST_FRAMES, TEXT.nouns.moreCaller));
  return [el("h3", {}, title), el("ol", { class: "stack" }, items), more];
}

export class Details {
  constructor(page) {
    this.page = page;
    this.body = el("div", { class: "details-body" });
    this.element = el("aside", { class: "details", "aria-label": TEXT.details.selection, hidden: true }, this.body);
  }

  update() {
    const { page } = this;
    const { selection } = page;
    // A selection in a scan has its own details.
    this.element.hidden = !selection || selection.node === 0 || page.state.view === "retained";
    if (this.element.hidden) return;
    // The page notifies again when it is prepared; until then only the selection itself is shown.
    const isKnown = page.isPrepared;
    this.element.setAttribute("aria-busy", String(!isKnown));
    const { label } = this;
    const { name, short, isFolded } = page.name(label);
    const { module } = page.data.describe(label);
    fill(
      this.body,
      el("div", { class: "details-head" }, el("h2", {}, short), el("button", { class: "plain close", "aria-label": TEXT.close, onclick: () => page.select(null) }, "×")),
      name !== short && el("p", { class: "full-name" }, name),
      module && el("p", { class: "quiet path" }, module),
      isFolded && el("p", { class: "quiet" }, TEXT.foldedHelp),
      isKnown ? numbersOf(page, selection) : el("p", { class: "quiet" }, TEXT.details.counting),
      this.actions(label),
      isKnown && [this.lines(), endsOf(page, selection).map(({ title, list }) => [el("h3", {}, `${title} ${TEXT.function.whole}`), list]), this.stack()],
    );
  }

  /**
   * The name of the selection: in the list of stacks the first function of the row, not one that allocates on its
   * behalf.
   */
  get label() {
    const { selection, state } = this.page;
    const isStack = state.view === "stacks" && selection.fine !== undefined;
    return selection.tree.label[isStack ? this.page.meaningful(selection.node) : selection.node];
  }

  actions(label) {
    const { page } = this;
    const { node, tree, isTopDown } = page.selection;
    const isShown = tree === page.shown().tree;
    return el(
      "div",
      { class: "tools" },
      isTopDown && el("button", { onclick: () => page.update({ view: "flame", inverted: false, focus: node }) }, TEXT.details.zoom),
      page.name(label).isFunction && el("button", { id: "function", onclick: () => page.update({ view: "function", function: label }) }, TEXT.function.open),
      // A folded node has no name to search for.
      !page.name(label).isFolded && el("button", { onclick: () => page.search(page.name(label).name) }, TEXT.details.find),
      el("button", { id: "copy-stack", onclick: () => copyText(page, this.text()) }, TEXT.details.copy),
      isShown && el("button", { id: "copy-tree", title: TEXT.copy.treeHelp, onclick: () => copyRows(page, rowsBelow(page, node), "text") }, TEXT.copy.tree),
      isShown && el("button", { id: "copy-tree-markdown", title: TEXT.copy.treeHelp, onclick: () => copyRows(page, rowsBelow(page, node), "markdown") }, TEXT.copy.treeMarkdown),
    );
  }

  /** The lines of the function from which it made calls or allocated. */
  lines() {
    const { page } = this;
    if (!page.selection.isTopDown) return null;
    const sums = new Map();
    const totals = page.fineTotals();
    for (const fine of page.selection.fines) {
      const { file, line } = page.data.place(fine);
      if (!file) continue;
      const key = `${file}\n${line}`;
      const sum = sums.get(key) ?? { file, line, value: 0 };
      sum.value += totals[fine];
      sums.set(key, sum);
    }
    const all = [...sums.values()].filter((sum) => sum.value !== 0).sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    if (all.length < 2) return null;
    const whole = all.reduce((sum, { value }) => sum + Math.abs(value), 0);
    const unit = page.written();
    const write = (value) => (page.measured().signed ? signed(value, unit) : amount(value, unit));
    const rows = all.slice(0, MOST_LINES).map(({ file, line, value }) =>
      el("tr", {}, el("td", { class: "number" }, write(value)), el("td", { class: "number quiet" }, percent(Math.abs(value), whole)), el("td", {}, placeOf(page, file, line))),
    );
    const more = all.length > MOST_LINES && el("p", { class: "quiet" }, counted(all.length - MOST_LINES, TEXT.nouns.moreLine));
    return [el("h3", {}, TEXT.function.lines), el("table", { class: "lines" }, el("tbody", {}, rows)), more];
  }

  /** The heaviest stack through the selection, innermost first. */
  frames() {
    const { page } = this;
    const { data } = page;
    const fine = page.selection.heaviest();
    const frames = [];
    for (let node = fine; node !== 0 && node !== undefined; node = data.parent[node]) {
      frames.push({ label: data.label[node], ...data.place(node) });
      if (data.parent[node] === node) break;
    }
    return frames;
  }

  stack() {
    const { page } = this;
    const title = page.selection.fine === undefined ? TEXT.details.heaviest : TEXT.details.stack;
    return stackList(page, title, this.frames(), (frame) => ({ ...frame, ...page.name(frame.label), isSelected: frame.label === this.label }));
  }

  text() {
    return this.frames()
      .map(({ label, file, line }) => `${this.page.name(label).name}${file ? ` (${file}:${line})` : ""}`)
      .join("\n");
  }
}
