// What a scan found as tables: by stack, by root, and what is unreachable.

import { el } from "./dom.js";
import { amount, count, natural, percent } from "./format.js";
import { ARROW } from "./named.js";
import { bar } from "./overview.js";
import { VirtualTable } from "./table.js";
import { TEXT } from "./text.js";

export class KeptList {
  /** `part` says of what: `stacks`, `roots` or `unreachable`. */
  constructor(kept, part) {
    Object.assign(this, { kept, part });
    this.sort = { key: "all", falling: true };
    const { scan } = kept;
    this.all = { stacks: () => scan.byStack, roots: () => scan.byRoot, unreachable: () => scan.unreachable }[part]();
    this.table = new VirtualTable({
      name: `kept-${part}`,
      label: TEXT.retained.parts[part],
      columns: columnsOf(part),
      cell: (row, key) => this.cell(row, key),
      rowAttributes: ({ label }) => ({ "aria-selected": String(kept.selection?.label === label) }),
      onSort: (key) => this.sortBy(key),
      onActivate: (index) => kept.choose(this.rows[index].label),
      onMove: (index) => kept.choose(this.rows[index].label),
    });
    this.element = this.table.element;
  }

  sortBy(key) {
    this.sort = { key, falling: this.sort.key === key ? !this.sort.falling : key !== "name" };
    this.update();
  }

  update() {
    const { kept } = this;
    const { unit } = kept.state;
    const { key, falling } = this.sort;
    const value = (row) => (typeof row[key] === "object" ? row[key][unit] : row[key]);
    const compare = key === "name" ? (a, b) => natural(kept.name(a.label).short, kept.name(b.label).short) : (a, b) => value(a) - value(b);
    this.rows = this.all.filter(({ label }) => !kept.matches || kept.matches[label] === 1);
    this.rows.sort((a, b) => (falling ? compare(b, a) : compare(a, b)));
    this.table.columns.find((column) => column.key === "other").title = TEXT.units[this.otherUnit].toLowerCase();
    this.table.show(this.rows, this.sort);
  }

  get otherUnit() {
    return this.kept.state.unit === "bytes" ? "blocks" : "bytes";
  }

  cell(row, key) {
    const { kept } = this;
    const { unit } = kept.state;
    const whole = kept.scan.head.held[unit];
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
        return row.own[this.otherUnit] === 0 ? "" : amount(row.own[this.otherUnit], this.otherUnit);
      case "cycles":
        return row.cycles === 0 ? "" : count(row.cycles);
      case "holder":
        return this.holderCell(row);
      default:
        return this.nameCell(row.label);
    }
  }

  nameCell(label) {
    const { short, name, by, className } = this.kept.name(label);
    return [called(by), el("span", { class: className, title: name }, short)];
  }

  /** What keeps most of it, and how many others there are. */
  holderCell({ holders: [first], holders, others }) {
    if (!first) return "";
    const more = holders.length - 1 + others;
    return [this.nameCell(first.label), more > 0 && el("span", { class: "quiet" }, ` +${count(more)}`)];
  }
}

/** The library's function that a stack's first one has called, before that: such names may be longer than any row. */
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
    { key: "name", title: part === "roots" ? columns.root : columns.stack, className: "name", sortable: true },
    part === "stacks" && { key: "holder", title: columns.holder, className: "name quiet holder" },
  ].filter(Boolean);
}
