// The call tree as a table in which any rows can be open.

import { copyRows } from "./copy.js";
import { PROCESS } from "./data.js";
import { el } from "./dom.js";
import { amount, percent, signed } from "./format.js";
import { ordered, opened, visible } from "./rows.js";
import { VirtualTable } from "./table.js";
import { bar, swatch } from "./overview.js";
import { TEXT } from "./text.js";

/** Rows that are filled when a tree is first shown. */
const ROOM = 40;

/** Most matches of a search that are opened, the largest ones. */
const MATCHES = 60;

const CALL_TREE = {
  name: "tree",
  label: TEXT.views.tree,
  columns: [
    { key: "total", title: TEXT.columns.total, className: "number", sortable: true },
    { key: "share", title: TEXT.columns.share, className: "number quiet share" },
    { key: "bar", title: "", className: "bar-cell" },
    { key: "self", title: TEXT.columns.self, className: "number", help: TEXT.columns.selfHelp },
    { key: "name", title: TEXT.columns.function, className: "name", sortable: true },
  ],
};

export class TreeView {
  /** `kind` has the name, the label and the columns of the table. */
  constructor(page, kind = CALL_TREE) {
    this.page = page;
    this.open = new Map();
    this.table = new VirtualTable({
      ...kind,
      cell: (row, key) => this.cell(row, key),
      rowAttributes: (row) => this.attributes(row),
      sort: { key: "total", falling: true },
      onSort: () => this.update(),
      onActivate: (index) => this.activate(index),
      onMove: (index) => this.page.select(this.shown.tree, this.rows[index].node),
      onKey: (index, event) => this.key(index, event),
    });
    const button = (text, action, help) => el("button", { onclick: action, title: help }, text);
    this.element = el(
      "div",
      { class: "tree-view" },
      el("div", { class: "tools" }, button(TEXT.tree.largest, () => this.reopen(), TEXT.tree.largestHelp), button(TEXT.tree.all, () => this.openAll()), button(TEXT.tree.none, () => this.closeAll()), button(TEXT.copy.text, () => this.copy("text"), TEXT.copy.textHelp), button(TEXT.copy.markdown, () => this.copy("markdown"), TEXT.copy.markdownHelp)),
      this.table.element,
    );
  }

  /** Open nodes, kept for each tree: an inverted tree is a different one for every measure. */
  get openNodes() {
    const key = this.page.state.inverted ? this.page.measureKey() : "top-down";
    if (!this.open.has(key)) this.open.set(key, opened(this.shown.tree, this.shown.width, ROOM));
    return this.open.get(key);
  }

  setOpen(nodes) {
    this.open.set(this.page.state.inverted ? this.page.measureKey() : "top-down", nodes);
    this.update();
  }

  reopen() {
    this.setOpen(opened(this.shown.tree, this.shown.width, ROOM));
  }

  openAll() {
    const { tree } = this.shown;
    const nodes = new Set([0]);
    for (let node = 1; node < tree.length; node++) nodes.add(tree.parent[node]);
    this.setOpen(nodes);
  }

  closeAll() {
    this.setOpen(new Set());
  }

  update() {
    this.shown = this.page.shown();
    const { tree, value, width } = this.shown;
    if (this.page.matches && this.page.state.query !== this.lastQuery) this.openMatches();
    this.lastQuery = this.page.state.query;
    const { selection } = this.page;
    const isNew = selection !== this.lastSelection && selection?.tree === tree;
    this.lastSelection = selection;
    // A selection made elsewhere must become visible here.
    if (isNew && selection.node !== 0) for (const above of tree.path(tree.parent[selection.node])) this.openNodes.add(above);
    const names = (a, b) => this.page.compareNames(a, b);
    const size = this.shown.signed ? width : value;
    const { key, falling } = this.table.sort;
    const order = (node) => {
      const children = ordered(tree, node, size, names);
      if (this.shown.signed) children.sort((a, b) => Math.abs(value[b]) - Math.abs(value[a]));
      if (key === "name") children.sort((a, b) => names(tree.label[a], tree.label[b]));
      return (key === "name") === falling ? children.reverse() : children;
    };
    this.rows = visible(this.openNodes, order);
    this.table.show(this.rows);
    const place = isNew ? this.rows.findIndex(({ node }) => node === selection.node) : -1;
    if (place >= 0) this.table.reveal(place);
  }

  /** Copies the rows that are open. */
  copy(form) {
    return copyRows(this.page, this.rows, form);
  }

  openMatches() {
    const { tree, width } = this.shown;
    const found = [];
    for (let node = 1; node < tree.length; node++) if (this.page.matches[tree.label[node]] && width[node] > 0) found.push(node);
    found.sort((a, b) => width[b] - width[a]);
    const nodes = new Set([0]);
    for (const node of found.slice(0, MATCHES)) for (const above of tree.path(tree.parent[node])) nodes.add(above);
    if (found.length) this.open.set(this.page.state.inverted ? this.page.measureKey() : "top-down", nodes);
  }

  cell({ node, indent }, key) {
    const unit = this.page.written();
    const { tree, value, width, own, signed: isSigned } = this.shown;
    const write = (number) => (number === 0 ? "" : isSigned ? signed(number, unit) : amount(number, unit));
    switch (key) {
      case "total":
        return isSigned ? signed(value[node], unit) : amount(value[node], unit);
      case "share":
        return isSigned ? "" : percent(value[node], value[0]);
      case "bar":
        return bar(isSigned ? Math.abs(value[node]) / (width[0] || 1) : value[node] / value[0]);
      case "self":
        return write(own[node]);
      default:
        return this.nameCell(node, indent, tree);
    }
  }

  nameCell(node, level, tree) {
    const { page } = this;
    const hasChildren = this.hasChildren(node);
    const { short, name, className } = page.name(tree.label[node]);
    const indent = el("span", { class: "indent" });
    // Deep rows are indented less per level, so that the name stays visible.
    indent.style.width = `${level <= 24 ? level * 14 : 336 + Math.min(level - 24, 60) * 3}px`;
    const mark = hasChildren ? (this.openNodes.has(node) ? "▾" : "▸") : "";
    const isMatch = page.matches && page.matches[tree.label[node]];
    const isProcess = page.data.describe(tree.label[node]).kind === PROCESS;
    return [indent, el("span", { class: "mark", "aria-hidden": "true" }, mark), isProcess && swatch(name), el("span", { class: `${className}${isMatch ? " match" : ""}`, title: name }, short)];
  }

  hasChildren(node) {
    const { tree, width } = this.shown;
    return tree.childrenOf(node).some((child) => width[child] !== 0);
  }

  attributes({ node, depth }) {
    const hasChildren = this.hasChildren(node);
    return { "aria-level": depth + 1, "aria-expanded": hasChildren ? String(this.openNodes.has(node)) : undefined };
  }

  activate(index) {
    const { node } = this.rows[index];
    this.page.select(this.shown.tree, node);
    this.toggle(node, !this.openNodes.has(node));
  }

  toggle(node, open) {
    if (open) this.openNodes.add(node);
    else this.openNodes.delete(node);
    this.update();
  }

  key(index, event) {
    const { node, depth } = this.rows[index];
    const isOpen = this.openNodes.has(node) && this.hasChildren(node);
    if (event.key === "ArrowRight") {
      if (isOpen) this.table.moveTo(index + 1);
      else if (this.hasChildren(node)) this.toggle(node, true);
    } else if (event.key === "ArrowLeft") {
      if (isOpen) this.toggle(node, false);
      else for (let above = index - 1; above >= 0; above--) if (this.rows[above].depth < depth) return this.table.moveTo(above), true;
    } else return false;
    return true;
  }
}
