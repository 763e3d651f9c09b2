// Marks by name: their number, how long their regions took, and what was allocated in them.

import { el, fill } from "./dom.js";
import { bytes, count, duration, natural } from "./format.js";
import { VirtualTable } from "./table.js";
import { TEXT } from "./text.js";

export class MarksView {
  constructor(page) {
    this.page = page;
    const { columns } = TEXT.marks;
    const number = (key) => ({ key, title: columns[key], className: `number ${key}`, sortable: true });
    this.table = new VirtualTable({
      name: "marks",
      label: TEXT.views.marks,
      columns: [...["times", "shortest", "mean", "longest", "bytes", "blocks"].map(number), { key: "name", title: columns.name, className: "name", sortable: true }],
      cell: (row, key) => this.cell(row, key),
      rowAttributes: (row) => ({ "data-mark": row.mark, "aria-selected": String(this.isChosen(row)) }),
      sort: { key: "name", falling: false },
      onSort: () => this.update(),
      onActivate: (index) => this.choose(this.rows[index]),
    });
    this.element = el("div", { class: "marks-view" }, el("p", { class: "quiet" }, TEXT.marks.help), this.table.element);
    this.all = this.allRows();
  }

  /** A row for each name, in the order of the `info` document, which has the statistics. */
  allRows() {
    const { data } = this.page;
    return (data.info.mark_names ?? []).map((said, mark) => {
      const sum = (unit) => this.page.allocatedDuring(mark, unit);
      const times = said.regions || said.instants;
      return { mark, said, times, shortest: said.min_ns, mean: said.mean_ns, longest: said.max_ns, bytes: sum("bytes"), blocks: sum("blocks"), name: said.name };
    });
  }

  isChosen({ mark }) {
    const { metric, mark: chosen } = this.page.state;
    return metric === "during" && chosen === mark;
  }

  /** Makes all of its regions the measure. */
  choose({ mark }) {
    if (this.page.data.regions.includes(mark)) this.page.update({ metric: "during", mark });
  }

  update() {
    if (this.all.length === 0) {
      fill(this.element, el("section", { class: "card" }, el("p", { class: "quiet" }, TEXT.marks.none)));
      return;
    }
    const { key, falling } = this.table.sort;
    const compare = key === "name" ? (a, b) => natural(a.name, b.name) : (a, b) => (a[key] ?? -1) - (b[key] ?? -1);
    this.rows = [...this.all].sort((a, b) => (falling ? compare(b, a) : compare(a, b)));
    this.table.show(this.rows);
  }

  cell(row, key) {
    const { said } = row;
    switch (key) {
      case "times":
        return count(row.times);
      case "shortest":
      case "mean":
      case "longest":
        return row[key] === null ? "" : duration(row[key]);
      case "bytes":
      case "blocks":
        if (row[key] === null) return "";
        return key === "bytes" ? bytes(row.bytes) : count(row.blocks);
      default:
        return [el("span", { class: this.isChosen(row) ? "match" : "" }, row.name), el("span", { class: "quiet" }, this.more(said))];
    }
  }

  /** What the numbers do not show. */
  more({ regions, unfinished, stray_ends: stray }) {
    const said = [];
    if (!regions) said.push(TEXT.marks.moments);
    if (unfinished) said.push(`${count(unfinished)} ${TEXT.marks.unfinished}`);
    if (stray) said.push(`${count(stray)} ${TEXT.marks.stray}`);
    return said.length ? `  ${said.join(", ")}` : "";
  }
}
