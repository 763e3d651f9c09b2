// The tables of a scan: by stack, by root, by class, and what is unreachable.

import { el } from "./dom.js";
import { amount, count, counted, natural, percent } from "./format.js";
import { otherThan } from "./metric.js";
import { ARROW } from "./named.js";
import { bar } from "./overview.js";
import { VirtualTable } from "./table.js";
import { TEXT } from "./text.js";

export class RetainedList {
  /** `part` is one of `stacks`, `roots`, `classes` and `unreachable`. */
  constructor(kept, part) {
    Object.assign(this, { kept, part });
    const { scan } = kept;
    this.all = { stacks: () => scan.byStack, roots: () => scan.byRoot, classes: () => scan.byClass, unreachable: () => scan.unreachable }[part]();
    this.table = new VirtualTable({
      name: `kept-${part}`,
      label: TEXT.retained.parts[part],
      columns: columnsOf(part),
      cell: (row, key) => this.cell(row, key),
      rowAttributes: (row) => this.attributes(row),
      sort: { key: "all", falling: true },
      onSort: () => this.update(),
      onActivate: (index) => this.activate(index),
      onMove: (index) => this.choose(this.rows[index]),
      onKey: (index, event) => this.key(index, event),
    });
    /** Labels of the expanded rows: a row of unreachable blocks expands into what they lead to. */
    this.open = new Set();
    this.element = this.table.element;
  }

  update() {
    const { kept } = this;
    const { unit } = kept.state;
    const { key, falling } = this.table.sort;
    const value = (row) => (typeof row[key] === "object" ? row[key][unit] : row[key]);
    const compare = key === "name" ? (a, b) => natural(kept.name(a.label).short, kept.name(b.label).short) : (a, b) => value(a) - value(b);
    const matches = ({ label }) => !kept.matches || kept.matches[label] === 1;
    const found = this.all.filter((row) => matches(row) || row.leadsTo?.some(matches));
    found.sort((a, b) => (falling ? compare(b, a) : compare(a, b)));
    this.rows = found.flatMap((row) => (this.open.has(row.label) ? [row, ...below(row)] : [row]));
    this.table.columns.find((column) => column.key === "other").title = TEXT.units[otherThan(unit)].toLowerCase();
    this.table.show(this.rows);
  }

  cell(row, key) {
    const { kept } = this;
    const { unit } = kept.state;
    const other = otherThan(unit);
    const { reachable, unreachable } = kept.scan.head;
    const whole = (this.part === "unreachable" ? unreachable : reachable)[unit];
    switch (key) {
      case "all":
        return amount(row.all[unit], unit);
      case "share":
        return percent(row.all[unit], whole);
      case "bar":
        return bar(row.all[unit] / whole);
      case "own":
        return row.own[unit] === 0 ? "" : amount(row.own[unit], unit);
      case "other":
        return row.own[other] === 0 ? "" : amount(row.own[other], other);
      case "lost":
        return row.lost[unit] === 0 ? "" : amount(row.lost[unit], unit);
      case "cycles":
        return row.cycles ? count(row.cycles) : "";
      case "holder":
        return this.holderCell(row);
      default:
        return [this.mark(row), row.rows ? el("span", { class: "quiet" }, counted(row.rows, TEXT.nouns.moreStack)) : this.nameCell(row.label)].flat();
    }
  }

  /** A marker for rows that are expanded, or are below one that is. */
  mark(row) {
    if (this.part !== "unreachable") return [];
    const indent = el("span", { class: "indent" });
    indent.style.width = row.above ? "14px" : "0";
    return [indent, el("span", { class: "mark", "aria-hidden": "true" }, unfolds(row) ? (this.open.has(row.label) ? "▾" : "▸") : "")];
  }

  attributes(row) {
    const expanded = unfolds(row) ? String(this.open.has(row.label)) : undefined;
    const level = this.part === "unreachable" ? (row.above ? 2 : 1) : undefined;
    return { "aria-selected": String(this.kept.selection?.label === row.label), "aria-level": level, "aria-expanded": expanded };
  }

  choose({ label }) {
    if (label !== undefined) this.kept.choose(label);
  }

  activate(index) {
    const row = this.rows[index];
    this.choose(row);
    if (unfolds(row)) this.unfold(row, !this.open.has(row.label));
  }

  unfold({ label }, open) {
    if (open) this.open.add(label);
    else this.open.delete(label);
    this.update();
  }

  /** Keys expand and collapse rows as in the trees. */
  key(index, { key }) {
    const row = this.rows[index];
    const isOpen = unfolds(row) && this.open.has(row.label);
    if (key === "ArrowRight" && isOpen) this.table.moveTo(index + 1);
    else if (key === "ArrowRight" && unfolds(row)) this.unfold(row, true);
    else if (key === "ArrowLeft" && isOpen) this.unfold(row, false);
    else if (key === "ArrowLeft" && row.above) this.table.moveTo(this.rows.indexOf(row.above));
    else return key === "ArrowRight" || key === "ArrowLeft";
    return true;
  }

  nameCell(label) {
    const { short, name, by, className } = this.kept.name(label);
    return [called(by), el("span", { class: className, title: name }, short)];
  }

  /** The largest holder, and the number of others. */
  holderCell({ holders: [first], holders, others }) {
    if (!first) return "";
    const more = holders.length - 1 + others;
    return [this.nameCell(first.label), more > 0 && el("span", { class: "quiet" }, ` +${count(more)}`)];
  }
}

/** True for a row that leads to others. */
function unfolds(row) {
  return row.leadsTo?.length > 0;
}

/** The rows below a row of unreachable blocks: what these lead to, by stack. */
function below(above) {
  const { leadsTo, hidden } = above;
  const rows = leadsTo.map(({ label, all }) => ({ label, all, own: all, above }));
  return hidden.rows ? [...rows, { rows: hidden.rows, all: hidden, own: hidden, above }] : rows;
}

/** The library function that a stack's first function called, preceding it: such names may be longer than any row. */
export function called(by) {
  return by && [el("span", { class: "quiet by", title: by }, by), el("span", { class: "quiet by" }, ARROW)];
}

function columnsOf(part) {
  const { columns } = TEXT.retained;
  const isLost = part === "unreachable";
  const own = part === "roots" ? { title: columns.direct, help: columns.directHelp } : { title: columns.own, help: columns.ownHelp };
  return [
    { key: "all", title: isLost ? columns.claimed : columns.all, className: "number", sortable: true, help: isLost ? columns.claimedHelp : columns.allHelp },
    { key: "share", title: columns.share, className: "number quiet share", help: columns.shareHelp },
    { key: "bar", title: "", className: "bar-cell" },
    { key: "own", className: "number", sortable: true, ...own },
    { key: "other", title: "", className: "number other", help: own.help },
    isLost && { key: "cycles", title: columns.cycles, className: "number", sortable: true, help: columns.cyclesHelp },
    part === "classes" && { key: "lost", title: columns.lost, className: "number", sortable: true, help: columns.lostHelp },
    { key: "name", title: { roots: columns.root, classes: columns.ofClass }[part] ?? columns.stack, className: "name", sortable: true },
    part === "stacks" && { key: "holder", title: columns.holder, className: "name quiet holder" },
  ].filter(Boolean);
}
