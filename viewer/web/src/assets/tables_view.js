// The tables of the views that are registered, as the command line has them, as far as there is room.

import { copyText } from "./copy.js";
import { el, fill } from "./dom.js";
import { Loader } from "./loader.js";
import { searching } from "./named.js";
import { asMarkdown, asText } from "./outline.js";
import { viewSource } from "./source.js";
import { TEXT } from "./text.js";

/** Tables as they came, below each other. */
export function sections(tables) {
  const cells = ({ columns }, { numbers, indent, name, is_generated: isMade }) => [
    ...columns.slice(0, -1).map((_, place) => el("td", { class: "number" }, numbers[place])),
    el("td", { class: `name${isMade ? " made" : ""}`, title: name }, el("span", { class: indent > 0 && "below" }, name)),
  ];
  const section = (table) =>
    el(
      "section",
      { class: "card texts" },
      table.title.map((line) => el("p", {}, line)),
      el(
        "table",
        { class: "list", "aria-label": table.title[0] },
        el("thead", {}, el("tr", {}, table.columns.map((head, place) => el("th", { scope: "col", class: place < table.columns.length - 1 && "number" }, head)))),
        el("tbody", {}, table.rows.map((row) => el("tr", {}, cells(table, row)))),
      ),
    );
  return tables.map(section);
}

export class TablesView {
  constructor(page) {
    this.page = page;
    this.views = page.data.head.views;
    this.buttons = this.views.map(({ id, about }) => el("button", { "data-table": id, title: about, onclick: () => page.update({ table: id }) }, id[0].toUpperCase() + id.slice(1)));
    this.holder = el("div", {});
    this.element = el("div", { class: "tables-view", tabindex: -1 }, el("div", { class: "tools" }, el("span", { class: "joined", role: "group", "aria-label": TEXT.views.tables }, this.buttons)), this.holder);
    this.loader = new Loader(
      ({ id }, signal) => viewSource(id, page.state, signal),
      (tables, view) => this.take(view, tables),
      (error) => this.say(error.message),
      page.left.signal,
    );
  }

  /** The selected view, by default the first one. */
  get chosen() {
    return this.views.find(({ id }) => id === this.page.state.table) ?? this.views[0];
  }

  update() {
    const { chosen, page } = this;
    for (const button of this.buttons) button.setAttribute("aria-pressed", String(button.dataset.table === chosen.id));
    if (chosen.tables) this.show(chosen);
    else if (!page.canAsk) this.say(TEXT.aggregated);
    else if (this.asked !== chosen.id) this.ask(chosen);
  }

  ask(view) {
    this.asked = view.id;
    this.say(TEXT.tables.computing);
    this.element.setAttribute("aria-busy", "true");
    this.loader.ask(view);
  }

  take(view, tables) {
    view.tables = tables;
    this.asked = undefined;
    this.element.removeAttribute("aria-busy");
    this.update();
  }

  say(text) {
    this.element.removeAttribute("aria-busy");
    fill(this.holder, el("p", { class: "lacks", role: "status" }, text));
  }

  /** Rows that match the search, with all below and above them. */
  rowsOf({ rows }) {
    const isSought = searching(this.page.state.query);
    if (!isSought) return rows;
    const groups = [];
    for (const row of rows) (row.indent === 0 || groups.length === 0 ? groups[groups.push([]) - 1] : groups.at(-1)).push(row);
    return groups.filter((group) => group.some(({ name }) => isSought(name))).flat();
  }

  show({ by, tables }) {
    fill(this.holder, el("p", { class: "quiet" }, TEXT.tables.more(by)), sections(tables.map((table) => ({ ...table, rows: this.rowsOf(table) }))));
  }

  /** Copies the rows that are shown. */
  copy(form) {
    const write = form === "markdown" ? asMarkdown : asText;
    const outline = (table) => ({ ...table, rows: this.rowsOf(table).map((row) => ({ ...row, isMade: row.is_generated })) });
    copyText(this.page, (this.chosen.tables ?? []).map((table) => write(outline(table))).join("\n"));
  }
}
