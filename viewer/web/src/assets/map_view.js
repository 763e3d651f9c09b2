// Where blocks were at the peak: memory in cells, coloured by how full they are, or by how many stacks share them.

import { isDark } from "./colour.js";
import { el, fill, prepare, table } from "./dom.js";
import { bytes, count, counted, percent } from "./format.js";
import { CELLS } from "./state.js";
import { sections } from "./tables_view.js";
import { TEXT } from "./text.js";

const CELL = 11;
const GAP = 2;
const LEFT = 4;

/** Most cells that the table lists. */
const LISTED = 1000;

export class MapView {
  constructor(page) {
    this.page = page;
    this.canvas = el("canvas", { class: "map", role: "img" });
    this.tip = el("div", { class: "tip", hidden: true });
    this.holder = el("div", { class: "map-holder" }, this.canvas, this.tip);
    this.tools = el("div", { class: "tools", role: "group", "aria-label": TEXT.map.colour }, CELLS.map((cells) => el("button", { "data-by": cells, onclick: () => page.update({ cells }) }, TEXT.map[cells])));
    this.said = el("p", { class: "quiet" });
    this.list = el("details", { class: "same-numbers", ontoggle: () => this.drawList() });
    this.element = el("div", { class: "map-view", tabindex: -1 }, this.tools, this.said, this.holder, this.list, sections(page.data.head.pages ?? []));
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
    new ResizeObserver(() => this.update()).observe(this.holder);
    this.cells = cellsOf(page.data);
  }

  update() {
    const { cells } = this;
    const size = this.page.data.head.cell_bytes;
    for (const button of this.tools.children) button.setAttribute("aria-pressed", String(button.dataset.by === this.page.state.cells));
    if (!cells.length) {
      this.said.textContent = size ? TEXT.map.empty : TEXT.map.unknown;
      return;
    }
    const held = cells.reduce((sum, cell) => sum + cell.held, 0);
    this.said.textContent = `${bytes(held)} in ${counted(cells.length, TEXT.map.cell)} of ${bytes(size)}, ${percent(held, cells.length * size)} ${TEXT.map.full}`;
    const width = this.holder.clientWidth;
    if (width < 50) return;
    this.place(width);
    this.draw(prepare(this.canvas, width, this.height));
    this.canvas.setAttribute("aria-label", `${TEXT.views.map}: ${this.said.textContent}`);
    fill(this.list, el("summary", {}, TEXT.sameNumbers));
    this.drawList();
  }

  /**
   * Squares in address order; a square also marks memory left out between two cells, and each process begins a new
   * row.
   */
  place(width) {
    const columns = Math.max(Math.floor((width - 2 * LEFT) / (CELL + GAP)), 1);
    let place = 0;
    this.cells.forEach((cell, index) => {
      const before = this.cells[index - 1];
      if (before && before.process !== cell.process) place = Math.ceil(place / columns) * columns + columns;
      else if (before && before.number + 1 !== cell.number) place += 1;
      cell.x = LEFT + (place % columns) * (CELL + GAP);
      cell.y = Math.floor(place / columns) * (CELL + GAP);
      place += 1;
    });
    this.height = Math.min(this.cells.at(-1).y + CELL + GAP, 16_000);
  }

  draw(context) {
    const dark = isDark();
    const most = this.cells.reduce((largest, cell) => Math.max(largest, cell.stacks), 1);
    const size = this.page.data.head.cell_bytes;
    // Numbers of stacks differ by orders of magnitude, fullness does not.
    const share = this.page.state.cells === "held" ? (cell) => Math.min(cell.held / size, 1) : (cell) => Math.log(cell.stacks) / Math.log(Math.max(most, 2));
    for (const cell of this.cells) {
      const part = share(cell);
      context.fillStyle = dark ? `hsl(208 ${30 + part * 45}% ${22 + part * 44}%)` : `hsl(208 ${35 + part * 45}% ${90 - part * 58}%)`;
      context.fillRect(cell.x, cell.y, CELL, CELL);
    }
  }

  at(x, y) {
    return this.cells.find((cell) => cell.x <= x && x < cell.x + CELL && cell.y <= y && y < cell.y + CELL);
  }

  hover(event) {
    const cell = this.at(event.offsetX, event.offsetY);
    this.tip.hidden = !cell;
    if (!cell) return;
    fill(this.tip, this.lines(cell).map((line) => el("div", {}, line)));
    this.tip.style.left = `${Math.min(event.offsetX + 14, Math.max(this.holder.clientWidth - 380, 0))}px`;
    this.tip.style.top = `${event.offsetY + 18}px`;
  }

  /** The description of a cell: where it is, how full, and whose. */
  lines(cell) {
    const rest = cell.stacks - cell.largest.length;
    return [
      `${this.address(cell)}${this.isOfMany() ? `  pid ${cell.process}` : ""}`,
      `${bytes(cell.held)}, ${percent(cell.held, this.page.data.head.cell_bytes)} ${TEXT.map.full}`,
      counted(cell.stacks, TEXT.map.different),
      ...cell.largest.map(({ text, held }) => `${bytes(held)}  ${text}`),
      ...(rest > 0 ? [counted(rest, TEXT.nouns.moreStack)] : []),
    ];
  }

  address(cell) {
    return `0x${(BigInt(cell.number) * BigInt(this.page.data.head.cell_bytes)).toString(16)}`;
  }

  isOfMany() {
    return this.cells.at(-1).process !== this.cells[0].process;
  }

  drawList() {
    if (!this.list.open || this.list.children.length > 1) return;
    const rows = this.cells.slice(0, LISTED).map((cell) => [this.address(cell), String(cell.process), count(cell.held), count(cell.stacks), cell.largest.map(({ text }) => text).join("; ")]);
    const more = this.cells.length > LISTED && el("p", { class: "quiet" }, counted(this.cells.length - LISTED, TEXT.map.moreCell));
    this.list.append(el("div", { class: "long" }, table(TEXT.views.map, TEXT.map.columns, rows, new Set([1, 2, 3]))), ...(more ? [more] : []));
  }
}

/** The cells in a page's data; none if it has no map. */
function cellsOf(data) {
  const { columns } = data;
  let next = 0;
  return Array.from(columns["cell.process"] ?? [], (process, index) => {
    const named = columns["cell.named"][index];
    const largest = Array.from({ length: named }, (_, place) => ({ text: data.text(columns["named.text"][next + place]), held: columns["named.bytes"][next + place] }));
    next += named;
    return { process, number: columns["cell.number.end"][index], held: columns["cell.bytes"][index], stacks: columns["cell.stacks"][index], largest };
  });
}
