// A table of any length, of which only the visible rows are in the document.

import { el, fill } from "./dom.js";

/** Height of a row in pixels, as in the style sheet. */
const HEIGHT = 24;

/** Number of tables so far: the row ids of each must be unique. */
let tables = 0;

/** Browsers draw elements up to some ten million pixels high; longer tables scroll in larger steps. */
const HIGHEST = 8_000_000;

export class VirtualTable {
  /**
   * `columns` are of `{ key, title, className, help, sortable }`; `cell(row, key)` returns the content of a cell,
   * `rowAttributes(row)` extra attributes of a row; `sort` is the order of the rows, `{ key, falling }`, after whose
   * change `onSort` is called; `onActivate(index)` and `onKey(index, event)` are callbacks.
   */
  constructor(options) {
    Object.assign(this, options);
    this.rows = [];
    this.active = 0;
    this.number = tables++;
    this.head = el("div", { class: "row head", role: "row" });
    this.body = el("div", { class: "rows", role: "presentation" });
    this.space = el("div", { class: "space", role: "presentation" }, this.body);
    this.scroller = el("div", { class: "scroller", tabindex: -1, role: "presentation", onscroll: () => this.draw() }, this.space);
    this.element = el("div", { class: `table ${options.name}`, tabindex: 0, role: "treegrid", "aria-label": options.label }, this.head, this.scroller);
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.body.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (!row || event.target.closest("a")) return;
      this.active = Number(row.dataset.index);
      // Rows come and go, so the table has the focus, and says which row is active.
      this.element.focus({ preventScroll: true });
      this.onActivate?.(this.active, event);
      this.draw();
    });
    new ResizeObserver(() => this.draw()).observe(this.scroller);
  }

  show(rows) {
    this.rows = rows;
    this.active = Math.min(this.active, Math.max(rows.length - 1, 0));
    this.element.setAttribute("aria-rowcount", rows.length + 1);
    this.space.style.height = `${Math.min(rows.length * HEIGHT, HIGHEST)}px`;
    this.drawHead();
    this.draw();
  }

  drawHead() {
    const cells = this.columns.map(({ key, title, className, help, sortable }) => {
      const isSorted = this.sort?.key === key;
      const order = isSorted ? (this.sort.falling ? "descending" : "ascending") : "none";
      const mark = isSorted ? (this.sort.falling ? " ▾" : " ▴") : "";
      const content = sortable ? el("button", { onclick: () => this.sortBy(key) }, title + mark) : title;
      return el("div", { class: `cell ${className ?? ""}`, role: "columnheader", title: help, "aria-sort": sortable && order }, content);
    });
    fill(this.head, cells);
  }

  /** Sorts by a column: the other way round if it is the present one; else names rise, and all others fall. */
  sortBy(key) {
    this.sort = { key, falling: this.sort.key === key ? !this.sort.falling : key !== "name" };
    this.onSort();
  }

  /** By how many pixels the table is scrolled for each row: by its height, or less if it is too long for that. */
  get step() {
    const { clientHeight } = this.scroller;
    const { length } = this.rows;
    return length * HEIGHT <= HIGHEST ? HEIGHT : (HIGHEST - clientHeight) / (length - clientHeight / HEIGHT);
  }

  /** The index of the first visible row. */
  get top() {
    return Math.floor(this.scroller.scrollTop / this.step);
  }

  draw() {
    const { scrollTop, clientHeight } = this.scroller;
    const first = Math.max(this.top - 4, 0);
    const last = Math.min(first + Math.ceil(clientHeight / HEIGHT) + 10, this.rows.length);
    const isLong = this.rows.length * HEIGHT > HIGHEST;
    this.body.style.transform = `translateY(${isLong ? scrollTop - (this.top - first) * HEIGHT : first * HEIGHT}px)`;
    const drawn = [];
    for (let index = first; index < last; index++) drawn.push(this.drawRow(index));
    fill(this.body, drawn);
    const isInSight = this.active >= first && this.active < last;
    if (isInSight) this.element.setAttribute("aria-activedescendant", this.idOf(this.active));
    else this.element.removeAttribute("aria-activedescendant");
  }

  idOf(index) {
    return `row-${this.number}-${index}`;
  }

  drawRow(index) {
    const row = this.rows[index];
    const attributes = { class: "row", id: this.idOf(index), role: "row", "aria-rowindex": index + 2, "data-index": index, ...this.rowAttributes?.(row) };
    if (index === this.active) attributes.class += " active";
    const cells = this.columns.map(({ key, className }) => el("div", { class: `cell ${className ?? ""}`, role: "gridcell" }, this.cell(row, key)));
    return el("div", attributes, cells);
  }

  key(event) {
    // Without rows, as after a search, none can be activated.
    if (this.rows.length === 0) return;
    // Sortable titles and links keep their own action.
    if (event.target.closest("button, a")) return;
    const page = Math.max(Math.floor(this.scroller.clientHeight / HEIGHT) - 1, 1);
    const steps = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, Home: -Infinity, End: Infinity };
    if (event.key in steps) {
      this.moveTo(this.active + steps[event.key]);
    } else if (event.key === "Enter" || event.key === " ") {
      this.onActivate?.(this.active, event);
      this.draw();
    } else if (!this.onKey?.(this.active, event)) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  moveTo(index) {
    this.reveal(Math.max(0, Math.min(index, this.rows.length - 1)));
    this.onMove?.(this.active);
  }

  /** Activates a row, and scrolls it into view. */
  reveal(index) {
    this.active = index;
    const { step, scroller } = this;
    const [atTop, atBottom] = [index * step, (index + 1 - scroller.clientHeight / HEIGHT) * step];
    if (atTop < scroller.scrollTop) scroller.scrollTop = atTop;
    else if (atBottom > scroller.scrollTop) scroller.scrollTop = atBottom;
    this.draw();
  }
}
