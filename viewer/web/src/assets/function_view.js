// Everything about one function: its lines with their source, and the sizes and lifetimes of its blocks.

import { numbersOf, placeOf } from "./details.js";
import { el, fill } from "./dom.js";
import { endsOf } from "./ends.js";
import { amount, bytes, count, counted, percent, signed } from "./format.js";
import { bar } from "./overview.js";
import { WholeFunction } from "./selection.js";
import { TEXT } from "./text.js";

const MOST_LINES = 100;

export class FunctionView {
  constructor(page) {
    this.page = page;
    this.element = el("div", { class: "function-view", tabindex: -1 });
  }

  update() {
    const { page } = this;
    const label = page.state.function;
    if (!(label >= 0 && label < page.data.foldedLabel)) {
      fill(this.element, el("section", { class: "card" }, el("p", { class: "quiet" }, TEXT.function.none)));
      return;
    }
    if (this.selection?.label !== label) this.selection = new WholeFunction(page, label);
    const { name } = page.name(label);
    const { module } = page.data.describe(label);
    const { head } = page.data;
    fill(
      this.element,
      el("section", { class: "card" }, el("h2", {}, name), module && el("p", { class: "quiet path" }, module), numbersOf(page, this.selection)),
      this.lines(),
      el("div", { class: "pair" }, this.classes("sized", TEXT.function.sizes, head.sizes), this.classes("aged", TEXT.function.lifetimes, head.ages)),
      el("div", { class: "pair" }, endsOf(page, this.selection).map(({ title, list }) => el("section", { class: "card" }, el("h2", {}, title, el("span", { class: "quiet" }, ` ${TEXT.function.whole}`)), list))),
    );
  }

  lines() {
    const { page } = this;
    const { value, signed: isSigned } = page.measured();
    const unit = page.written();
    const all = this.selection.lines(value);
    const whole = all.reduce((sum, line) => sum + Math.abs(line.value), 0);
    const write = (number) => (isSigned ? signed(number, unit) : amount(number, unit));
    const rows = all.slice(0, MOST_LINES).map(({ file, line, text, value: part }) =>
      el(
        "tr",
        {},
        el("td", { class: "number" }, write(part)),
        el("td", { class: "number quiet" }, percent(Math.abs(part), whole)),
        el("td", { class: "bar-cell" }, bar(Math.abs(part) / (whole || 1))),
        el("td", {}, file ? placeOf(page, file, line) : TEXT.function.unknown),
        el("td", {}, el("code", {}, text)),
      ),
    );
    const more = all.length > MOST_LINES && el("p", { class: "quiet" }, counted(all.length - MOST_LINES, TEXT.nouns.moreLine));
    const title = el("h2", {}, TEXT.function.lines, el("span", { class: "quiet" }, ` ${page.title()}`));
    return el("section", { class: "card" }, title, rows.length ? el("table", { class: "lines", "aria-label": TEXT.function.lines }, el("tbody", {}, rows)) : el("p", { class: "quiet" }, TEXT.function.nothing), more);
  }

  classes(kind, title, names) {
    const rows = this.selection.classes(kind);
    const total = rows.reduce((sum, { blocks }) => sum + blocks, 0);
    const most = rows.reduce((largest, { blocks }) => Math.max(largest, blocks), 1);
    const row = ({ place, bytes: size, blocks }) =>
      el(
        "tr",
        {},
        el("th", { scope: "row" }, names[place]),
        el("td", { class: "number" }, count(blocks)),
        el("td", { class: "number quiet" }, percent(blocks, total)),
        el("td", { class: "number" }, bytes(size)),
        el("td", { class: "bar-cell" }, bar(blocks / most)),
      );
    const heads = TEXT.function.columns.map((name, index) => el("th", { class: index > 0 && "number" }, name));
    return el(
      "section",
      { class: "card" },
      el("h2", {}, title, el("span", { class: "quiet" }, ` ${TEXT.function.whole}`)),
      rows.length ? el("table", { class: `list ${kind}`, "aria-label": title }, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, rows.map(row))) : el("p", { class: "quiet" }, TEXT.function.nothing),
    );
  }
}
