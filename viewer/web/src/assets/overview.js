// The whole capture at a glance.

import { isDark, processColour } from "./colour.js";
import { el, fill } from "./dom.js";
import { bytes, count, counted, duration, percent, signed } from "./format.js";
import { bothSides, byNode } from "./metric.js";
import { TEXT } from "./text.js";
import { joined } from "./tree.js";

const HOLDERS = 12;

/** Most reasons for missing names that are listed, those with most addresses. */
const REASONS = 5;

export class Overview {
  constructor(page) {
    this.page = page;
    this.element = el("div", { class: "overview", tabindex: -1 });
  }

  update() {
    const { page } = this;
    const pair = (...cards) => el("div", { class: "pair" }, cards);
    fill(
      this.element,
      warnings(page),
      page.data.before && pair(sides(page), changes(page)),
      facts(page),
      pair(holders(page, "peak"), holders(page, "leaked")),
      processes(page),
      remarks(page),
    );
  }
}

/** Why the numbers may be too low. */
function warnings({ data }) {
  const { info, head } = data;
  const said = [...head.warnings];
  if (info.totals.uncertain_blocks > 0) {
    const { uncertain_blocks: blocks, uncertain_bytes: size } = info.totals;
    said.push(TEXT.overview.uncertain(bytes(size), counted(blocks, TEXT.nouns.block), interruption(info)));
  }
  if (info.sample_interval) {
    said.push(TEXT.overview.estimates(bytes(info.sample_interval)));
  }
  const notes = [...(head.untimed ? [TEXT.overview.untimed] : []), ...head.notes];
  if (head.folded.stacks > 0) {
    const { stacks, allocated_blocks: blocks, allocated_bytes: size, peak_bytes: peak, leaked_bytes: leaked } = head.folded;
    const share = percent(size, info.totals.allocated_bytes);
    notes.push(TEXT.overview.folded(counted(stacks, TEXT.nouns.lightestStack), counted(blocks, TEXT.nouns.allocation), bytes(size), share, bytes(peak), bytes(leaked)));
  }
  if (head.rows_left_out > 0) notes.push(TEXT.overview.leftOut(counted(head.rows_left_out, TEXT.nouns.row)));
  const list = (items, role, name) => items.length > 0 && el("ul", { class: name, role }, items.map((text) => el("li", {}, text)));
  return [list(said, "alert", "warnings"), list(notes, "note", "notes")];
}

/** Why the end of blocks is uncertain. */
function interruption({ lost, pauses }) {
  const { gap, pause, both } = TEXT.overview.interruptions;
  if (pauses === 0) return gap;
  return lost.gaps === 0 ? pause : both;
}

function facts({ data }) {
  const { info } = data;
  const { totals, stacks } = info;
  const about = info.sample_interval ? "≈" : "";
  const fact = (name, value, more, id) =>
    el("div", { class: "fact", "data-fact": id }, el("dt", {}, name), el("dd", {}, el("strong", {}, value), more && el("span", {}, more)));
  // Successive processes may leave more behind than was ever held at once.
  const leaking = info.processes.filter(({ recorded, leaked_bytes: leaked }) => recorded && leaked > 0).length;
  const from = leaking > 1 ? `, ${TEXT.facts.inProcesses(counted(leaking, TEXT.nouns.process))}` : "";
  const { leaked, held, suppressed } = totals.left;
  const hidden = suppressed.bytes > 0 ? TEXT.overview.suppressed(bytes(suppressed.bytes)) : "";
  const left = (name, { blocks, bytes: size }, more, id) => fact(name, about + bytes(size), counted(blocks, TEXT.nouns.block) + more, id);
  const atPeak = counted(totals.peak_blocks, TEXT.nouns.block) + (data.head.untimed ? "" : `, ${duration(totals.peak_time_ns)}`);
  const hasEnded = data.info.processes.some(({ recorded, ended }) => recorded && ended !== "running");
  // One that executes another program is the same process before and after.
  const begun = info.processes.filter(({ recorded, image }) => recorded && image === 0).length;
  return el(
    "dl",
    { class: "facts" },
    fact(TEXT.facts.peak, about + bytes(totals.peak_bytes), atPeak, "peak"),
    totals.most_resident_bytes !== null && fact(TEXT.facts.resident, bytes(totals.most_resident_bytes), TEXT.facts.atMost, "resident"),
    (hasEnded || held.blocks === 0) && left(TEXT.facts.leaked, leaked, from + hidden, "leaked"),
    held.blocks > 0 && left(TEXT.facts.held, held, hasEnded ? "" : hidden, "held"),
    fact(TEXT.facts.allocated, about + bytes(totals.allocated_bytes), counted(totals.allocations, TEXT.nouns.allocation), "allocated"),
    fact(TEXT.facts.temporary, percent(totals.temporary, totals.allocations), TEXT.facts.ofAllocations(count(totals.temporary)), "temporary"),
    fact(TEXT.facts.duration, duration(info.duration_ns), counted(info.events, TEXT.nouns.event), "duration"),
    fact(TEXT.facts.lost, counted(info.lost.events, TEXT.nouns.event), info.lost.events ? TEXT.facts.seeAbove : TEXT.facts.nothingLost, "lost"),
    fact(TEXT.facts.stacks, count(stacks.distinct), TEXT.facts.complete(percent(stacks.complete, stacks.distinct)), "stacks"),
    fact(TEXT.facts.threads, count(info.threads), TEXT.facts.inProcesses(counted(begun, TEXT.nouns.process)), "threads"),
  );
}

/** The totals of both captures. */
function sides(page) {
  const { info, before } = page.data;
  const row = (id, name, write, of) => {
    const [old, now] = [of(before.totals), of(info.totals)];
    const change = now - old;
    return el("tr", { "data-compared": id }, el("th", { scope: "row" }, name), el("td", { class: "number" }, write(old)), el("td", { class: "number" }, write(now)), el("td", { class: "number" }, `${change > 0 ? "+" : ""}${write(change)}`));
  };
  const { title, columns, scope } = TEXT.against;
  const heads = columns.map((name, index) => el("th", { class: index > 0 && "number" }, name));
  return el(
    "section",
    { class: "card" },
    el("h2", {}, `${title} ${page.olderName()}`),
    el(
      "table",
      { class: "list", "aria-label": title },
      el("thead", {}, el("tr", {}, heads)),
      el(
        "tbody",
        {},
        row("peak", TEXT.metrics.peak.name, bytes, (totals) => totals.peak_bytes),
        row("leaked", TEXT.metrics.leaked.name, bytes, (totals) => totals.leaked_bytes),
        row("allocated", TEXT.metrics.allocated.name, bytes, (totals) => totals.allocated_bytes),
        row("allocations", TEXT.units.allocations, count, (totals) => totals.allocations),
        row("temporary", TEXT.metrics.temporary.name, count, (totals) => totals.temporary),
      ),
    ),
    el("p", { class: "quiet" }, scope),
  );
}

/** What each function has itself, after library frames, and its largest node, in either direction. */
function byHolder(page, rows) {
  const { data, tree } = page;
  const own = joined(tree, byNode(data, rows));
  const sums = new Map();
  for (let node = 0; node < tree.length; node++) {
    if (own[node] === 0) continue;
    const holder = page.meaningful(node);
    const label = tree.label[holder];
    const sum = sums.get(label) ?? { value: 0, largest: 0, node };
    sum.value += own[node];
    if (Math.abs(own[node]) > sum.largest) [sum.largest, sum.node] = [Math.abs(own[node]), holder];
    sums.set(label, sum);
  }
  return [...sums].sort((a, b) => Math.abs(b[1].value) - Math.abs(a[1].value));
}

/** The functions whose share of the peak has changed most since the older capture. */
function changes(page) {
  const { before, after } = bothSides(page.data, "peak", "bytes");
  const changed = byHolder(page, after.map((value, row) => value - before[row])).filter(([, { value }]) => value !== 0);
  const most = Math.abs(changed[0]?.[1].value ?? 1);
  const row = ([label, { value, node }]) => {
    const { name, short } = page.name(label);
    return el(
      "tr",
      { "data-grown": value },
      el("td", { class: "number" }, signed(value, "bytes")),
      el("td", { class: "bar-cell" }, bar(Math.abs(value) / most)),
      el("td", { class: "name" }, el("button", { class: "plain", title: name, onclick: () => page.open(node, "peak", true) }, short)),
    );
  };
  const title = `${TEXT.against.grown} ${page.olderName()}`;
  const rest = changed.slice(HOLDERS).reduce((sum, [, { value }]) => sum + value, 0);
  const more = changed.length > HOLDERS && el("tr", {}, el("td", { class: "number" }, signed(rest, "bytes")), el("td", {}), el("td", {}, counted(changed.length - HOLDERS, TEXT.nouns.moreFunction)));
  return barsCard(title, title, TEXT.against.same, [changed.slice(0, HOLDERS).map(row), more]);
}

/** A card with rows of bars, the first of two lists, or with what is said if there are none. */
function barsCard(title, label, nothing, [rows, more]) {
  const table = () => el("table", { class: "bars", "aria-label": label }, el("tbody", {}, rows, more));
  return el("section", { class: "card" }, el("h2", {}, title), rows.length === 0 ? el("p", { class: "quiet" }, nothing) : table());
}

/** The functions that allocated what was held. */
function holders(page, metric) {
  const { data } = page;
  const total = metric === "peak" ? data.info.totals.peak_bytes : data.info.totals.leaked_bytes;
  const rows = byHolder(page, data.columns[`row.${metric}.bytes`]);
  const shown = rows.slice(0, HOLDERS);
  const rest = rows.slice(HOLDERS).reduce((sum, [, { value }]) => sum + value, 0);
  const row = (name, value, activate) =>
    el(
      "tr",
      {},
      el("td", { class: "number" }, bytes(value)),
      el("td", { class: "number quiet" }, percent(value, total)),
      el("td", { class: "bar-cell" }, bar(value / total)),
      el("td", { class: "name" }, activate ? el("button", { class: "plain", onclick: activate, title: name.name }, name.short) : name.short),
    );
  const title = metric === "peak" ? TEXT.holders.peak : TEXT.holders.leaked;
  const nothing = metric === "peak" ? TEXT.holders.noPeak : TEXT.holders.noLeak;
  const more = rest !== 0 && row({ short: counted(rows.length - HOLDERS, TEXT.nouns.moreFunction) }, rest);
  return barsCard(title, TEXT.holders.by(title), nothing, [shown.map(([label, { value, node }]) => row(page.name(label), value, () => page.open(node, metric))), more]);
}

/** A bar of a share from 0 to 1. */
export function bar(share) {
  const inner = el("span", { class: "bar-fill" });
  inner.style.width = `${Math.max(0, Math.min(1, share || 0)) * 100}%`;
  return el("span", { class: "bar", "aria-hidden": "true" }, inner);
}

function processes({ data }) {
  const rows = data.info.processes.filter((process) => process.recorded);
  if (rows.length < 2) return null;
  const most = 40;
  const shown = [...rows].sort((a, b) => b.peak_bytes - a.peak_bytes).slice(0, most);
  const left = rows.length - shown.length;
  return el(
    "section",
    { class: "card" },
    el("h2", {}, TEXT.processes.title),
    el(
      "table",
      { class: "list", "aria-label": TEXT.processes.title },
      el("thead", {}, el("tr", {}, TEXT.processes.columns.map((title, index) => el("th", { scope: "col", class: index > 0 && index < 6 && "number" }, title)))),
      el(
        "tbody",
        {},
        shown.map((process) =>
          el(
            "tr",
            {},
            el("td", { title: process.executable }, swatch(process.name), process.name),
            [String(process.pid), bytes(process.peak_bytes), bytes(process.bytes_at_capture_peak), bytes(process.leaked_bytes), count(process.allocations)].map((text) => el("td", { class: "number" }, text)),
            el("td", {}, process.exit !== null ? TEXT.processes.exit(process.exit) : process.signal !== null ? TEXT.processes.signal(process.signal) : process.ended),
          ),
        ),
        left > 0 && el("tr", {}, el("td", { class: "quiet", colspan: 7 }, TEXT.processes.more(count(left)))),
      ),
    ),
  );
}

/** A square in the colour of a process. */
export function swatch(name) {
  const square = el("span", { class: "swatch", "data-process": name, "aria-hidden": "true" });
  square.style.background = processColour(name, isDark());
  return square;
}

function remarks({ data }) {
  const { remarks: said, unrecorded, nameless, totals } = data.info;
  const all = [
    ...said,
    ...(totals.failed_calls > 0 ? [TEXT.remarks.failed(counted(totals.failed_calls, TEXT.nouns.failedAllocation))] : []),
    ...(unrecorded.length ? [TEXT.remarks.unrecorded(unrecorded)] : []),
    ...nameless.slice(0, REASONS).map((row) => TEXT.remarks.nameless(counted(row.addresses, TEXT.nouns.address), row.reason)),
  ];
  const others = nameless.slice(REASONS);
  const sum = others.reduce((all, { addresses }) => all + addresses, 0);
  if (others.length > 0) all.push(TEXT.remarks.nameless(counted(sum, TEXT.nouns.address), counted(others.length, TEXT.nouns.otherReason)));
  if (all.length === 0) return null;
  return el("section", { class: "card" }, el("h2", {}, TEXT.remarks.title), el("ul", {}, all.map((text) => el("li", {}, text))));
}
