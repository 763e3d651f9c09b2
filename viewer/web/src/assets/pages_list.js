// Whose blocks kept which pages at the peak, how full these were, and what lay free between them.

import { el } from "./dom.js";
import { bytes, count, counted, percent } from "./format.js";
import { bar } from "./overview.js";
import { TEXT } from "./text.js";

/** The cards below the map; none if single blocks are unknown, or nothing was held. */
export function pagesOf({ data }) {
  const { pages } = data.head;
  if (!pages || pages.page_bytes === 0) return [];
  return [el("div", { class: "pair" }, fullness(pages), heaps(data, pages)), stacks(data, pages)];
}

function list(title, heads, rows, numbers, name = "") {
  const head = heads.map((name, index) => el("th", { scope: "col", class: index < numbers && "number" }, name));
  return el("div", { class: "long" }, el("table", { class: `list ${name}`, "aria-label": title }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows)));
}

const number = (text) => el("td", { class: "number" }, text);

function more(left, noun) {
  return left > 0 && el("p", { class: "quiet" }, counted(left, noun));
}

/** Bytes of pages by fullness. */
function fullness(pages) {
  const { title, heads, under, between, over, said } = TEXT.pages.fullness;
  const name = (place) => {
    const [bounds, last] = [pages.by_fullness.map(([below]) => below), pages.by_fullness.length - 1];
    if (place === 0) return under(bounds[0]);
    return place === last ? over(bounds[place - 1]) : between(bounds[place - 1], bounds[place]);
  };
  const row = ([, size], place) => el("tr", {}, number(name(place)), number(bytes(size)), el("td", { class: "number quiet" }, percent(size, pages.page_bytes)), el("td", { class: "bar-cell" }, bar(size / pages.page_bytes)));
  const blocks = said(bytes(pages.page_bytes), percent(pages.page_bytes - pages.empty_bytes, pages.page_bytes));
  return el("section", { class: "card" }, el("h2", {}, title), el("p", { class: "quiet" }, blocks), list(title, heads, pages.by_fullness.map(row), 3));
}

/** What lies free in heaps, below and above their highest blocks. */
function heaps(data, pages) {
  const { title, heads, nothing, under: below, above: over, of, ends } = TEXT.pages.heaps;
  const [under, above] = [pages.freed_under_bytes, pages.freed_above_bytes];
  const freed = under + above;
  const card = (...parts) => el("section", { class: "card" }, el("h2", {}, title), parts);
  if (freed === 0) return card(el("p", { class: "quiet" }, nothing));
  if (pages.library) return card(el("p", { class: "quiet" }, of(bytes(freed), pages.library)));
  const row = ({ pages: used, block, stack, ...free }) =>
    el("tr", {}, [free.under, free.above, used].map((size) => number(bytes(size))), number(block === null ? "" : bytes(block)), el("td", { class: "stack" }, stack === null ? el("span", { class: "quiet" }, ends) : data.text(stack)));
  return card(el("p", { class: "quiet" }, below(bytes(under)), above > 0 && over(bytes(above))), list(title, heads, pages.heaps.map(row), 4), more(pages.heaps_left_out, TEXT.pages.moreHeap));
}

/** The stacks responsible for most empty bytes. */
function stacks(data, pages) {
  const { title, heads, help } = TEXT.pages.stacks;
  const row = ({ empty, alone, pages: on, held, blocks, stack }) =>
    el("tr", {}, [empty, alone, on, held].map((size) => number(bytes(size))), number(count(blocks)), el("td", { class: "stack" }, data.text(stack)));
  return el("section", { class: "card" }, el("h2", {}, title), el("p", { class: "quiet" }, help), list(title, heads, pages.stacks.map(row), 5, "keepers"), more(pages.stacks_left_out, TEXT.nouns.moreStack));
}
