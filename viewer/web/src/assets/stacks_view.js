// Stacks and functions as rows: leaks, holders of the peak, and any other measure.

import { el, fill } from "./dom.js";
import { amount, counted, natural, percent, signed } from "./format.js";
import { otherThan } from "./metric.js";
import { bar } from "./overview.js";
import { VirtualTable } from "./table.js";
import { functions } from "./tree.js";
import { TEXT } from "./text.js";

const HEAVIEST_FIRST = { key: "value", falling: true };

export class StacksView {
  constructor(page) {
    this.page = page;
    this.holder = el("div", { class: "stacks-holder" });
    const choice = (rows, text) => el("button", { "data-by": rows, onclick: () => this.show(rows) }, text);
    this.tools = el("div", { class: "tools", role: "group", "aria-label": TEXT.stacks.rows }, choice("stack", TEXT.stacks.byStack), choice("function", TEXT.stacks.byFunction));
    this.said = el("span", { class: "quiet" });
    this.tools.append(this.said);
    this.element = el("div", { class: "stacks-view" }, this.tools, this.holder);
    this.tables = { stack: this.stackTable(), function: this.functionTable() };
  }

  stackTable() {
    return new VirtualTable({
      name: "stacks",
      label: TEXT.stacks.stacks,
      columns: [
        { key: "value", title: "", className: "number", sortable: true },
        { key: "share", title: TEXT.columns.share, className: "number quiet share" },
        { key: "bar", title: "", className: "bar-cell" },
        { key: "other", title: "", className: "number", sortable: true },
        { key: "call", title: TEXT.columns.from, className: "call", sortable: true },
        { key: "name", title: TEXT.columns.stack, className: "name", sortable: true },
      ],
      cell: (row, key) => this.stackCell(row, key),
      onActivate: (index) => this.page.select(this.page.tree, this.rows[index].node, this.rows[index].fine),
      onMove: (index) => this.page.select(this.page.tree, this.rows[index].node, this.rows[index].fine),
      sort: HEAVIEST_FIRST,
      onSort: () => this.update(),
    });
  }

  functionTable() {
    return new VirtualTable({
      name: "functions",
      label: TEXT.stacks.functions,
      columns: [
        { key: "value", title: TEXT.columns.total, className: "number", sortable: true, help: TEXT.columns.totalHelp },
        { key: "share", title: TEXT.columns.share, className: "number quiet share" },
        { key: "bar", title: "", className: "bar-cell" },
        { key: "self", title: TEXT.columns.self, className: "number", sortable: true, help: TEXT.columns.selfHelp },
        { key: "name", title: TEXT.columns.function, className: "name", sortable: true },
      ],
      cell: (row, key) => this.functionCell(row, key),
      onActivate: (index) => this.page.search(this.page.name(this.rows[index].label).name),
      sort: HEAVIEST_FIRST,
      onSort: () => this.update(),
    });
  }

  /** What rows stand for. */
  get by() {
    return this.page.state.rows;
  }

  show(rows) {
    this.tables[rows].sort = HEAVIEST_FIRST;
    this.page.update({ rows });
  }

  update() {
    const { page } = this;
    this.isSigned = page.measured().signed;
    this.rows = this.by === "stack" ? this.stackRows() : this.functionRows();
    this.total = page.totalOf();
    const matches = (row) => !page.matches || (this.by === "stack" ? page.stackMatches(row.node) : page.matches[row.label] === 1);
    this.rows = this.rows.filter(matches);
    const table = this.tables[this.by];
    const { key, falling } = table.sort;
    const isText = key === "name" || key === "call";
    if (isText) for (const row of this.rows) row.text = this.text(row, key);
    const compare = isText ? (a, b) => natural(a.text, b.text) : (a, b) => Math.abs(a[key]) - Math.abs(b[key]);
    this.rows.sort((a, b) => (falling ? compare(b, a) : compare(a, b)));
    for (const button of this.tools.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset.by === this.by));
    const noun = this.by === "stack" ? TEXT.nouns.stack : TEXT.nouns.function;
    this.said.textContent = `${counted(this.rows.length, noun)}, ${page.title()}`;
    if (this.holder.firstChild !== table.element) fill(this.holder, table.element);
    const { unit } = page.state;
    if (this.by === "stack") [table.columns[0].title, table.columns[3].title] = [unit, otherThan(unit)].map((each) => page.written(each));
    table.show(this.rows);
  }

  stackRows() {
    const { page } = this;
    const { data } = page;
    const { unit } = page.state;
    const [values, others] = [page.measuredRows(unit), page.measuredRows(otherThan(unit))];
    const [nodes, calls] = [data.columns["row.node"], data.columns["row.call"]];
    const isOfFrees = page.state.metric === "frees";
    const rows = [];
    for (let row = 0; row < data.rows; row++) {
      if (values[row] === 0 && others[row] === 0) continue;
      const fine = nodes[row];
      rows.push({ fine, node: page.tree.of[fine], value: values[row], other: others[row], call: this.call(calls[row], isOfFrees) });
    }
    return rows;
  }

  /**
   * The allocator function that was called. A stack that does not name it called `malloc`, or `free` if frees are
   * measured.
   */
  call(number, isOfFrees) {
    return number === 0 && isOfFrees ? "free" : (this.page.data.head.calls[number] ?? "");
  }

  functionRows() {
    const { page } = this;
    const { tree } = page;
    const labels = page.data.foldedLabel + 1;
    const { own } = page.topDownShown();
    const { self, total } = functions(tree, own, labels);
    const rows = [];
    for (let label = 0; label < labels; label++) {
      if (total[label] === 0 && self[label] === 0) continue;
      if (page.name(label).isFunction) rows.push({ label, value: total[label], self: self[label] });
    }
    return rows;
  }

  text(row, key) {
    if (key === "call") return row.call;
    return this.by === "stack" ? this.page.chain(row.node, 1) : this.page.name(row.label).short;
  }

  number(value, unit) {
    const written = this.page.written(unit);
    return this.isSigned ? signed(value, written) : amount(value, written);
  }

  stackCell(row, key) {
    const { unit } = this.page.state;
    if (key === "value") return this.number(row.value, unit);
    if (key === "other") return this.number(row.other, otherThan(unit));
    if (key === "share") return this.isSigned ? "" : percent(row.value, this.total);
    if (key === "bar") return bar(Math.abs(row.value) / Math.abs(this.total || 1));
    if (key === "call") return el("span", { class: "quiet" }, row.call);
    return el("span", { title: this.page.chain(row.node, 12) }, this.page.chain(row.node, 5));
  }

  functionCell(row, key) {
    const { unit } = this.page.state;
    if (key === "value") return this.number(row.value, unit);
    if (key === "self") return row.self === 0 ? "" : this.number(row.self, unit);
    if (key === "share") return this.isSigned ? "" : percent(row.value, this.total);
    if (key === "bar") return bar(Math.abs(row.value) / Math.abs(this.total || 1));
    const { short, name, className } = this.page.name(row.label);
    return el("span", { class: className, title: name }, short);
  }
}
