// What keeps memory alive, and what was unreachable, when processes were scanned.

import { el, fill } from "./dom.js";
import { FlameView } from "./flame_view.js";
import { amount, bytes, counted, duration, percent } from "./format.js";
import { Retained } from "./retained.js";
import { RetainedDetails } from "./retained_details.js";
import { RetainedList } from "./retained_lists.js";
import { RetainedTreeView } from "./retained_tree_view.js";
import { Loader } from "./loader.js";
import { readScan } from "./scan.js";
import { hasScan, scanSource } from "./source.js";
import { PARTS } from "./state.js";
import { TEXT } from "./text.js";

/** Number of scans whose views are kept. */
const KEPT = 4;

export class RetainedView {
  constructor(page) {
    this.page = page;
    this.scans = page.data.info.scans ?? [];
    /** By number, the loaded scans with their views. */
    this.loaded = new Map();
    const option = (scan) => el("option", { value: scan.number }, TEXT.retained.chosen(scan.number, scan.process ?? "", scan.pid ?? 0, duration(scan.time_ns)), !hasScan(scan.number, page.canAsk) && TEXT.retained.notHere);
    this.chooser = el("select", { id: "scan", "aria-label": TEXT.retained.scan, onchange: (event) => page.update({ scan: Number(event.target.value), kept: 0 }) }, [...this.scans].reverse().map(option));
    this.parts = PARTS.map((part) => el("button", { "data-part": part, onclick: () => page.update({ part }) }, TEXT.retained.parts[part]));
    this.tools = el("div", { class: "tools" }, this.chooser, el("span", { class: "joined", role: "group", "aria-label": TEXT.retained.partsName }, this.parts));
    this.head = el("div", { class: "retained-head" });
    this.holder = el("div", { class: "retained-holder" });
    this.aside = el("div", { class: "retained-aside" });
    this.element = el("div", { class: "retained-view", tabindex: -1 }, this.tools, this.head, el("div", { class: "retained-columns" }, this.holder, this.aside));
    this.loader = new Loader(
      (scan, signal) => scanSource(scan, page.canAsk, signal),
      (data, scan) => this.take(data, scan),
      (error) => this.lack(error.status === 409 ? TEXT.retained.grown : TEXT.retained.failed + error.message),
      page.left.signal,
    );
  }

  /** The selected scan, by default the last one. */
  get chosen() {
    const { scan: number } = this.page.state;
    return this.scans.find((scan) => scan.number === number) ?? this.scans.at(-1);
  }

  update() {
    if (this.scans.length === 0) return this.showNone();
    const { chosen, page } = this;
    this.chooser.hidden = this.scans.length < 2;
    this.chooser.value = chosen.number;
    for (const button of this.parts) button.setAttribute("aria-pressed", String(button.dataset.part === page.state.part));
    const loaded = this.loaded.get(chosen.number);
    if (loaded) this.show(loaded);
    else this.load(chosen);
  }

  // Loading.

  load(scan) {
    if (this.asked === scan.number) return;
    this.asked = scan.number;
    this.element.setAttribute("aria-busy", "true");
    this.say(TEXT.retained.computing);
    this.loader.ask(scan);
  }

  take(data, scan) {
    if (data === null) return this.lack(TEXT.retained.elsewhere(scan.number));
    try {
      const kept = new Retained(this.page, readScan(data));
      if (this.loaded.size >= KEPT) this.loaded.delete(this.loaded.keys().next().value);
      this.loaded.set(scan.number, { kept, views: {}, details: new RetainedDetails(kept) });
    } catch (error) {
      return this.lack(TEXT.retained.failed + error.message);
    }
    this.asked = undefined;
    this.element.removeAttribute("aria-busy");
    this.update();
  }

  /** Shows why a scan cannot be displayed. */
  lack(reason) {
    this.element.removeAttribute("aria-busy");
    this.say(reason);
  }

  say(text) {
    fill(this.head);
    fill(this.aside);
    fill(this.holder, el("p", { class: "lacks", role: "status" }, text));
  }

  showNone() {
    const { none, how_to: ways, impossible } = TEXT.retained;
    const rows = ways.map(([command, meaning]) => el("tr", {}, el("td", {}, el("code", {}, command)), el("td", { class: "quiet" }, meaning)));
    this.tools.hidden = true;
    fill(this.holder, el("section", { class: "card" }, el("p", {}, none), el("table", { class: "alone" }, el("tbody", {}, rows)), el("p", { class: "quiet" }, impossible)));
  }

  // What was loaded.

  show(loaded) {
    const { page } = this;
    const { part } = page.state;
    const { kept, views, details } = loaded;
    this.shown = loaded;
    this.asked = undefined;
    this.drawHead(kept);
    views[part] ??= viewOf(kept, part);
    const view = views[part];
    const nothing = saidOfNothing(kept.scan, part);
    if (nothing) fill(this.holder, el("section", { class: "card" }, el("p", { class: "quiet" }, nothing)));
    else if (this.holder.firstChild !== view.element) fill(this.holder, view.element);
    if (this.aside.firstChild !== details.element) fill(this.aside, details.element);
    details.update();
    view.update();
  }

  /** Describes the scan, and why its numbers may be incomplete. */
  drawHead(kept) {
    const { page } = this;
    const { head } = kept.scan;
    const { scan, held, unreachable } = head;
    const sized = ({ bytes: size, blocks }) => [bytes(size), counted(blocks, TEXT.nouns.block)];
    const process = `${scan.process ?? ""} (${scan.pid ?? 0})`;
    const lost = unreachable.blocks > 0;
    const list = (items, role, name) => items.length > 0 && el("ul", { class: name, role }, items.map((text) => el("li", {}, text)));
    fill(
      this.head,
      el("p", { class: "retained-said" }, el("strong", {}, TEXT.retained.said(process, duration(scan.time_ns), ...sized(held))), !lost && TEXT.retained.allReachable),
      lost && el("p", { class: "unreachable-said" }, el("span", { class: "lost" }, TEXT.retained.notReachable(...sized(unreachable))), " ", page.state.part !== "unreachable" && el("button", { id: "unreachable", onclick: () => page.update({ part: "unreachable" }) }, TEXT.retained.show)),
      list(warnings(head), "alert", "warnings"),
      list(leftOut(kept, page.state.part), "note", "notes"),
      el("p", { class: "quiet" }, `${TEXT.retained.how(scan.number, scan.scans, duration(scan.still_ns), bytes(scan.searched_bytes))} ${TEXT.retained.means} ${TEXT.retained.fixed}`),
    );
  }

  /** Closes what is open; false if nothing is. */
  escape() {
    const kept = this.shown?.kept;
    if (!kept) return false;
    if (kept.selection) kept.select(null);
    else if (this.page.state.kept) this.page.update({ kept: 0 });
    else return false;
    return true;
  }

  save() {
    this.shown?.views[this.page.state.part]?.save?.();
  }

  copy(form) {
    return this.shown?.views[this.page.state.part]?.copy?.(form);
  }
}

/** The text shown for a part without rows. */
function saidOfNothing({ head, byClass }, part) {
  if (part === "unreachable" && head.unreachable.blocks === 0) return TEXT.retained.nothingUnreachable;
  return part === "classes" && byClass.length === 0 ? TEXT.retained.noClasses : undefined;
}

function viewOf(kept, part) {
  if (part === "tree") return new RetainedTreeView(kept);
  return part === "flame" ? new FlameView(kept, TEXT.retained.flame) : new RetainedList(kept, part);
}

function warnings({ scan, overlapping, pointers }) {
  const { retained } = TEXT;
  const { freed_later: freed } = scan;
  return [
    scan.is_partial && retained.partial,
    scan.unread_bytes > 0 && retained.unread(bytes(scan.unread_bytes)),
    scan.lost_pointers > 0 && retained.lost(counted(scan.lost_pointers, TEXT.nouns.pointer)),
    pointers.left_out > 0 && retained.tooMany(counted(pointers.left_out, TEXT.nouns.pointer)),
    freed.blocks > 0 && retained.freedLater(bytes(freed.bytes), counted(freed.blocks, TEXT.nouns.block)),
    overlapping.blocks > 0 && retained.overlapping(bytes(overlapping.bytes), counted(overlapping.blocks, TEXT.nouns.block)),
  ].filter(Boolean);
}

/** What is missing from a part in the page. */
function leftOut(kept, part) {
  const { left_out: left, held } = kept.scan.head;
  const { leftOut: said } = TEXT.retained;
  if (part === "tree" || part === "flame") {
    const { hidden, added } = kept.scan.kept;
    const { unit } = kept.state;
    const smaller = hidden.reduce((sum, rows, node) => ({ rows: sum.rows + rows, size: sum.size + (rows ? added[unit][node] : 0) }), { rows: 0, size: 0 });
    return smaller.rows > 0 ? [said.tree(counted(smaller.rows, TEXT.nouns.row), amount(smaller.size, unit), percent(smaller.size, held[unit]))] : [];
  }
  const { rows, bytes: size } = left[part];
  const noun = { roots: TEXT.nouns.root, classes: TEXT.nouns.ofClass }[part] ?? TEXT.nouns.stack;
  return rows > 0 ? [said[part](counted(rows, noun), bytes(size))] : [];
}
