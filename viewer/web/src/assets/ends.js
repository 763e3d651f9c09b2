// Who frees whose blocks, for a selection: what became of the blocks it allocated, and who allocated those it freed.

import { el } from "./dom.js";
import { amount, counted, percent } from "./format.js";
import { TEXT } from "./text.js";

/** Why blocks have no row that freed them, by the numbers in `data.rs`. */
const REASONS = { [-1]: TEXT.ends.left, [-2]: TEXT.ends.unseen, [-3]: TEXT.ends.toNothing };

const MOST = 8;

/**
 * Both lists, each with its title; fewer if there is nothing to list, as when the stacks of frees were not recorded.
 */
export function endsOf(page, selection) {
  if (!page.data.tracesFrees) return [];
  const { unit } = page.state;
  const lists = [
    { title: TEXT.ends.ends, name: "ends", all: selection.ends(unit) },
    { title: TEXT.ends.owners, name: "owners", all: selection.owners(unit) },
  ];
  return lists.filter(({ all }) => all.length > 0).map(({ title, name, all }) => ({ title, list: list(page, all, title, name) }));
}

function list(page, all, title, name) {
  const { unit } = page.state;
  const whole = all.reduce((sum, end) => sum + end[unit], 0);
  const rows = all.slice(0, MOST).map((end) =>
    el("tr", {}, el("td", { class: "number" }, amount(end[unit], unit)), el("td", { class: "number quiet" }, percent(end[unit], whole)), el("td", { class: "name" }, stackOf(page, end.by), byOthers(end, unit))),
  );
  const rest = all.slice(MOST).reduce((sum, end) => sum + end[unit], 0);
  const more = all.length > MOST && el("tr", {}, el("td", { class: "number" }, amount(rest, unit)), el("td", {}), el("td", { class: "quiet" }, counted(all.length - MOST, TEXT.nouns.moreStack)));
  return el("table", { class: `lines ${name}`, "aria-label": title }, el("tbody", {}, rows, more));
}

/** A link to a stack, or why there is none. */
function stackOf(page, row) {
  if (row < 0) return el("span", { class: "quiet" }, REASONS[row]);
  const fine = page.data.columns["row.node"][row];
  const node = page.tree.of[fine];
  return el("button", { class: "plain", title: page.chain(node, 12), onclick: () => page.select(page.tree, node, fine) }, page.chain(node, 2));
}

/** The part that another thread freed than the one that allocated it; empty if there is none. */
function byOthers(end, unit) {
  return end.others[unit] > 0 && el("div", { class: "quiet" }, TEXT.ends.byOthers(percent(end.others[unit], end[unit])));
}
