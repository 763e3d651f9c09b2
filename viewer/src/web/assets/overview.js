// The whole capture at a glance.

import { isDark, processColour } from "./colour.js";
import { el, fill } from "./dom.js";
import { bytes, count, counted, duration, percent } from "./format.js";
import { byNode } from "./metric.js";
import { joined } from "./tree.js";

const HOLDERS = 12;

export class Overview {
  constructor(page) {
    this.page = page;
    this.element = el("div", { class: "overview", tabindex: -1 });
  }

  update() {
    const { page } = this;
    fill(this.element, warnings(page), facts(page), el("div", { class: "pair" }, holders(page, "peak"), holders(page, "leaked")), processes(page), remarks(page));
  }
}

/** What makes the numbers less than the whole truth. */
function warnings({ data }) {
  const { info, head } = data;
  const said = [];
  if (info.cut) said.push(`The file ends before its recording did: ${info.cut}`);
  for (const lost of info.lost.by_reason) {
    if (lost.events > 0) said.push(`${counted(lost.events, "event")} lost (${lost.reason}): ${lost.advice}`);
  }
  if (info.unknown_chunks > 0) said.push(`${counted(info.unknown_chunks, "part")} of the file can be read by a newer version only.`);
  if (info.totals.uncertain_blocks > 0) {
    const { uncertain_blocks: blocks, uncertain_bytes: size } = info.totals;
    said.push(`${bytes(size)} in ${counted(blocks, "block")} are uncertain: alive across a gap, so their free may have been lost.`);
  }
  if (info.sample_interval) {
    said.push(`Numbers are estimates from samples, one in ${bytes(info.sample_interval)} of allocations on average; a stack with ten samples is right to a third.`);
  }
  const notes = [];
  if (head.folded.stacks > 0) {
    const { stacks, allocated_blocks: blocks, allocated_bytes: size, peak_bytes: peak, leaked_bytes: leaked } = head.folded;
    notes.push(
      `To keep this page small, the ${counted(stacks, "lightest stack")} stand below their callers as “smaller ones”: ` +
        `${counted(blocks, "allocation")} of ${bytes(size)} (${percent(size, info.totals.allocated_bytes)} of all), ${bytes(peak)} at the peak, ${bytes(leaked)} leaked.`,
    );
  }
  if (head.rows_left_out > 0) notes.push(`${counted(head.rows_left_out, "row")} of lists are not in this page; info shows them.`);
  const list = (items, role, name) => items.length > 0 && el("ul", { class: name, role }, items.map((text) => el("li", {}, text)));
  return [list(said, "alert", "warnings"), list(notes, "note", "notes")];
}

function facts({ data }) {
  const { info } = data;
  const { totals, stacks } = info;
  const about = info.sample_interval ? "≈" : "";
  const fact = (name, value, more, id) =>
    el("div", { class: "fact", "data-fact": id }, el("dt", {}, name), el("dd", {}, el("strong", {}, value), more && el("span", {}, more)));
  const running = totals.running_bytes > 0 ? `, ${bytes(totals.running_bytes)} in processes that still ran` : "";
  return el(
    "dl",
    { class: "facts" },
    fact("Peak", about + bytes(totals.peak_bytes), `${counted(totals.peak_blocks, "block")}, ${duration(totals.peak_time_ns)}`, "peak"),
    fact("Leaked", about + bytes(totals.leaked_bytes), counted(totals.leaked_blocks, "block") + running, "leaked"),
    fact("Allocated", about + bytes(totals.allocated_bytes), counted(totals.allocations, "allocation"), "allocated"),
    fact("Temporary", percent(totals.temporary, totals.allocations), `${count(totals.temporary)} of allocations`, "temporary"),
    fact("Duration", duration(info.duration_ns), counted(info.events, "event"), "duration"),
    fact("Lost", counted(info.lost.events, "event"), info.lost.events ? "see above" : "everything is there", "lost"),
    fact("Stacks", count(stacks.distinct), `${percent(stacks.complete, stacks.distinct)} complete`, "stacks"),
    fact("Threads", count(info.threads), `in ${counted(info.processes.filter((process) => process.recorded).length, "process")}`, "threads"),
  );
}

/** The functions that allocated what was held, past the standard library's plumbing. */
function holders(page, metric) {
  const { data, tree } = page;
  const own = joined(tree, byNode(data, data.columns[`row.${metric}.bytes`]));
  const sums = new Map();
  for (let node = 0; node < tree.length; node++) {
    if (own[node] === 0) continue;
    const holder = page.meaningful(node);
    const label = tree.label[holder];
    const sum = sums.get(label) ?? { value: 0, largest: 0, node };
    sum.value += own[node];
    if (own[node] > sum.largest) [sum.largest, sum.node] = [own[node], holder];
    sums.set(label, sum);
  }
  const total = metric === "peak" ? data.info.totals.peak_bytes : data.info.totals.leaked_bytes;
  const rows = [...sums].sort((a, b) => b[1].value - a[1].value);
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
  const title = metric === "peak" ? "Who held the peak" : "Who leaked";
  return el(
    "section",
    { class: "card" },
    el("h2", {}, title),
    shown.length === 0
      ? el("p", { class: "quiet" }, metric === "peak" ? "Nothing was allocated." : "Nothing: every block was freed.")
      : el(
          "table",
          { class: "bars", "aria-label": `${title}, by allocating function` },
          el("tbody", {}, shown.map(([label, { value, node }]) => row(page.name(label), value, () => page.open(node, metric))), rest !== 0 && row({ short: counted(rows.length - HOLDERS, "more function") }, rest)),
        ),
  );
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
    el("h2", {}, "Processes"),
    el(
      "table",
      { class: "list" },
      el("thead", {}, el("tr", {}, ["process", "pid", "own peak", "at the peak", "leaked", "allocations", "ended"].map((title, index) => el("th", { class: index > 0 && index < 6 && "number" }, title)))),
      el(
        "tbody",
        {},
        shown.map((process) =>
          el(
            "tr",
            {},
            el("td", { title: process.executable }, swatch(process.name), process.name),
            [count(process.pid).replaceAll(",", ""), bytes(process.peak_bytes), bytes(process.bytes_at_capture_peak), bytes(process.leaked_bytes), count(process.allocations)].map((text) => el("td", { class: "number" }, text)),
            el("td", {}, process.exit !== null ? `exit ${process.exit}` : process.signal !== null ? `signal ${process.signal}` : process.ended),
          ),
        ),
        left > 0 && el("tr", {}, el("td", { class: "quiet", colspan: 7 }, `${count(left)} more with smaller peaks`)),
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
  const { remarks: said, unrecorded, nameless } = data.info;
  const all = [
    ...said,
    ...unrecorded.map((process) => `not recorded to its end: ${process}`),
    ...nameless.slice(0, 5).map((row) => `no names for ${counted(row.addresses, "address")}: ${row.reason ?? "nobody has looked for them"}`),
  ];
  if (all.length === 0) return null;
  return el("section", { class: "card" }, el("h2", {}, "Remarks"), el("ul", {}, all.map((text) => el("li", {}, text))));
}
