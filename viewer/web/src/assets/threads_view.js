// Who frees whose blocks: a row for each thread that allocated, a column for each thread that freed.

import { el, fill } from "./dom.js";
import { amount, counted, percent } from "./format.js";
import { TEXT } from "./text.js";

/** Most threads with a row and a column of their own, those with most blocks. */
const MOST = 24;

export class ThreadsView {
  constructor(page) {
    this.page = page;
    this.element = el("div", { class: "threads-view" });
  }

  update() {
    const { data, state } = this.page;
    const { columns } = data;
    const [from, to] = [columns["crossing.from"], columns["crossing.to"]];
    const values = columns[`crossing.${state.unit}`];
    if (values.length === 0) {
      const nothing = data.isAggregated ? TEXT.aggregated : TEXT.threads.nothing;
      fill(this.element, el("section", { class: "card" }, el("h2", {}, TEXT.views.threads), el("p", { class: "quiet" }, nothing)));
      return;
    }
    const weights = new Float64Array(data.head.threads.length);
    values.forEach((value, pair) => {
      if (from[pair] >= 0) weights[from[pair]] += value;
      if (to[pair] >= 0) weights[to[pair]] += value;
    });
    const crosses = new Set();
    values.forEach((_, pair) => {
      if (from[pair] !== to[pair]) crosses.add(from[pair]).add(to[pair]);
    });
    const byWeight = [...weights.keys()].sort((a, b) => weights[b] - weights[a] || a - b);
    if (crosses.size === 0) return this.alone(byWeight, weights);
    const crossing = byWeight.filter((thread) => crosses.has(thread));
    const shown = crossing.slice(0, MOST);
    const place = new Map(shown.map((thread, index) => [thread, index]));
    const hasOthers = byWeight.length > shown.length || from.some((thread) => thread < 0);
    const size = shown.length + (hasOthers ? 1 : 0);
    const cells = Array.from({ length: size }, () => new Float64Array(size));
    let [total, crossed] = [0, 0];
    values.forEach((value, pair) => {
      const row = place.get(from[pair]) ?? size - 1;
      const column = place.get(to[pair]) ?? size - 1;
      cells[row][column] += value;
      total += value;
      if (from[pair] !== to[pair] || from[pair] < 0) crossed += value;
    });
    const names = shown.map((thread) => this.name(thread));
    if (hasOthers) names.push(TEXT.threads.others);
    const most = Math.max(...cells.map((row) => Math.max(...row)));
    const head = el("tr", {}, el("th", { scope: "col" }, TEXT.threads.corner), names.map((name) => el("th", { scope: "col", class: "number" }, name)), el("th", { scope: "col", class: "number" }, TEXT.threads.sum));
    const rows = cells.map((row, index) =>
      el(
        "tr",
        {},
        el("th", { scope: "row" }, names[index]),
        [...row].map((value, column) => this.cell(value, most, index === column)),
        el("td", { class: "number quiet" }, amount(row.reduce((a, b) => a + b, 0), state.unit)),
      ),
    );
    fill(
      this.element,
      el(
        "section",
        { class: "card" },
        el("h2", {}, TEXT.threads.title, el("span", { class: "quiet" }, TEXT.threads.crossed(amount(crossed, state.unit), amount(total, state.unit), percent(crossed, total)))),
        el("div", { class: "long" }, el("table", { class: "matrix" }, el("thead", {}, head), el("tbody", {}, rows))),
      ),
    );
  }

  /** What each thread freed, if none freed what another had allocated. */
  alone(byWeight, weights) {
    const { unit } = this.page.state;
    const row = (thread) => el("tr", {}, el("td", { class: "number" }, amount(weights[thread] / 2, unit)), el("td", {}, this.name(thread)));
    const rest = byWeight.slice(MOST).reduce((sum, thread) => sum + weights[thread] / 2, 0);
    const more = byWeight.length > MOST && el("tr", {}, el("td", { class: "number" }, amount(rest, unit)), el("td", { class: "quiet" }, counted(byWeight.length - MOST, TEXT.nouns.moreThread)));
    fill(
      this.element,
      el("section", { class: "card" }, el("h2", {}, TEXT.threads.title, el("span", { class: "quiet" }, TEXT.threads.own)), el("table", { class: "alone" }, el("tbody", {}, byWeight.slice(0, MOST).map(row), more))),
    );
  }

  cell(value, most, isOwn) {
    const cell = el("td", { class: `number${isOwn ? " own" : ""}` }, value === 0 ? "" : amount(value, this.page.state.unit));
    // Lightness shows the magnitude, the text the exact number.
    if (value > 0) cell.style.setProperty("--share", `${Math.round(8 + 52 * Math.sqrt(value / most))}%`);
    return cell;
  }

  name(thread) {
    const { head, info } = this.page.data;
    const { tid, pid, name } = head.threads[thread];
    const said = this.page.data.text(name);
    const alone = info.processes.length < 2;
    return `${said || TEXT.threads.thread} ${alone ? tid : `${pid}/${tid}`}`;
  }
}
