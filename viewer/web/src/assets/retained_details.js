// Details of a stack, root or class in a scan: its numbers, what keeps it, and the path to it.

import { stackList } from "./details.js";
import { el, fill } from "./dom.js";
import { bytes, counted } from "./format.js";
import { called } from "./retained_lists.js";
import { boundaryBefore, lastMoment } from "./metric.js";
import { SEVERAL, SMALLER } from "./scan.js";
import { TEXT } from "./text.js";

export class RetainedDetails {
  constructor(kept) {
    this.kept = kept;
    this.body = el("div", { class: "details-body" });
    this.element = el("aside", { class: "details", "aria-label": TEXT.retained.details.name, hidden: true }, this.body);
  }

  update() {
    const { kept } = this;
    const label = kept.selection?.label;
    this.element.hidden = label === undefined;
    if (this.element.hidden) return;
    const { short, first, by, className } = kept.name(label);
    const { stack } = kept.scan.what(label);
    fill(
      this.body,
      el("div", { class: "details-head" }, el("h2", { class: className }, called(by), first ?? short), el("button", { class: "plain close", "aria-label": TEXT.close, onclick: () => kept.select(null) }, "×")),
      label === SMALLER && el("p", { class: "quiet" }, TEXT.retained.details.smaller),
      this.numbers(label),
      this.actions(label, stack),
      this.holders(label),
      label === SEVERAL && this.ofSeveral(),
      stack !== undefined && this.stack(stack),
    );
  }

  /** Its row in one of the tables. */
  rowOf(label, rows) {
    return rows.find((row) => row.label === label);
  }

  numbers(label) {
    const { scan } = this.kept;
    const { details } = TEXT.retained;
    const { stack } = scan.what(label);
    const [of, lostOf] = stack === undefined ? [label, undefined] : [scan.firstStack + stack, scan.firstLost + stack];
    const root = this.rowOf(of, scan.byRoot);
    const kept = this.rowOf(of, scan.byStack) ?? this.rowOf(of, scan.byClass);
    // Of one stack, some blocks may be reachable and others not.
    const lost = this.rowOf(lostOf, scan.unreachable);
    const line = (name, { bytes: size, blocks }) => el("tr", {}, el("th", { scope: "row" }, name), el("td", { class: "number" }, size === undefined ? "" : bytes(size)), el("td", { class: "number" }, counted(blocks, TEXT.nouns.block)));
    const lines = [
      root && [line(details.all, root.all), line(details.refers, root.own)],
      kept && [line(details.all, kept.all), line(details.own, kept.own), kept.direct > 0 && line(details.direct, { blocks: kept.direct })],
      kept?.lost?.blocks > 0 && [line(details.lost, kept.lost)],
      lost && [line(details.heads, lost.own), line(details.claimed, lost.all), lost.cycles > 0 && line(details.cycles, { blocks: lost.cycles })],
    ].filter(Boolean);
    return lines.length ? el("table", { class: "numbers", "aria-label": TEXT.details.numbers }, el("tbody", {}, lines)) : this.numbersOfNode();
  }

  /** The numbers of a node that is in no table, such as everything reachable. */
  numbersOfNode() {
    const { kept } = this;
    const { node } = kept.selection;
    if (!node) return null;
    const [size, blocks] = ["bytes", "blocks"].map((unit) => kept.otherTotals(unit)[node]);
    return el("p", {}, `${bytes(size)}, ${counted(blocks, TEXT.nouns.block)}`);
  }

  actions(label, stack) {
    const { kept } = this;
    const { page } = kept;
    const { details } = TEXT.retained;
    const node = kept.largest(label);
    const isHere = page.state.part === "tree" && kept.selection.node === node;
    const here = stack === undefined ? -1 : kept.inPage(stack);
    const allocating = here > 0 && page.data.label[kept.scan.passLibraryFrames(stack, here, page.data)];
    return [
      el(
        "div",
        { class: "tools" },
        node > 0 && !isHere && el("button", { id: "kept-in-tree", onclick: () => (kept.select(kept.tree, node), page.update({ part: "tree" })) }, details.tree),
        here > 0 && el("button", { id: "kept-in-call-tree", title: details.callHelp, onclick: () => this.leave(here) }, details.call),
        here > 0 && page.name(allocating).isFunction && el("button", { id: "kept-function", onclick: () => page.update({ view: "function", function: allocating }) }, details.function),
      ),
      stack !== undefined && here < 0 && el("p", { class: "quiet" }, details.folded),
    ];
  }

  /** Goes to a stack in the call tree, at the moment of the scan. */
  leave(fine) {
    const { page, scan } = this.kept;
    page.select(page.tree, page.tree.of[fine], fine);
    // What a process left is gone once it has ended.
    const b = Math.min(boundaryBefore(page.data, scan.head.scan.time_ns), lastMoment(page.data));
    page.update({ view: "tree", metric: "live", against: false, inverted: false, b });
  }

  /** A holder with what it keeps or leads to, and a link to it. */
  holder({ label, bytes: size }) {
    const { kept } = this;
    const { short, by, name, className } = kept.name(label);
    return el("tr", {}, el("td", { class: "number" }, bytes(size)), el("td", { class: "name" }, el("button", { class: `plain ${className}`, title: name, onclick: () => kept.choose(label) }, called(by), short)));
  }

  /** The roots that together keep what no single one does. */
  ofSeveral() {
    const { head, ofSeveral } = this.kept.scan;
    const { details } = TEXT.retained;
    const { several_more: more, several_not_followed: notFollowed } = head;
    return [
      el("h3", {}, details.ledTo),
      el("p", { class: "quiet" }, details.ledToHelp),
      el("table", { class: "lines holders" }, el("tbody", {}, ofSeveral.map((row) => this.holder(row)))),
      more > 0 && el("p", { class: "quiet" }, details.ledToLess(counted(more, TEXT.nouns.moreHolder))),
      notFollowed > 0 && el("p", { class: "quiet" }, details.notFollowed(counted(notFollowed, TEXT.nouns.moreHolder))),
    ];
  }

  /** What keeps the blocks of a stack, the most first. */
  holders(label) {
    const { kept } = this;
    const row = this.rowOf(label, kept.scan.byStack);
    if (!row) return null;
    const { details } = TEXT.retained;
    const named = row.holders.reduce((sum, { bytes: size }) => sum + size, 0);
    const more = row.others > 0 && el("p", { class: "quiet" }, details.others(bytes(row.all.bytes - named), counted(row.others, TEXT.nouns.moreHolder)));
    return [el("h3", {}, details.keptBy), el("table", { class: "lines holders" }, el("tbody", {}, row.holders.map((holder) => this.holder(holder)))), more];
  }

  stack(stack) {
    const { scan, stacks, page } = this.kept;
    const frames = [];
    // The process is above all of them.
    for (let at = scan.nodeOf(stack); at !== 0 && scan.parent[at] !== 0; at = scan.parent[at]) frames.push(at);
    return stackList(page, TEXT.retained.details.stack, frames, (node) => ({ ...scan.place(node), ...stacks.name(scan.label[node]) }));
  }
}
