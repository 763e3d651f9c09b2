// The reader's view, as the fragment of the page's address: it can be bookmarked and shared.

import { TEXT } from "./text.js";

const VIEWS = Object.keys(TEXT.views);
/** Choices for cutting a drawing: functions and calls below a share in percent, and the number of functions. */
export const LEAST = ["0.1", "0.5", "1", "2", "5", "10"];
export const MOST = ["20", "40", "80", "160", "320"];

/** The parts of a scan that can be shown. */
export const PARTS = ["tree", "flame", "stacks", "roots", "classes", "unreachable"];

/** What rows of the stack list stand for, and what cells of the memory map are coloured by. */
export const ROWS = ["stack", "function"];
export const CELLS = ["held", "stacks"];

const FIELDS = { metric: ["live", "growth", "peak", "leaked", "allocated", "temporary", "during", "cpu", "frees"], unit: ["bytes", "blocks"], least: LEAST, most: MOST, part: PARTS, rows: ROWS, cells: CELLS };

/** Parses a fragment; whatever is missing or invalid is as in `first`. */
export function fromFragment(fragment, first, slices) {
  const said = new URLSearchParams(fragment.replace(/^#/, ""));
  const state = { ...first };
  if (VIEWS.includes(said.get("view"))) state.view = said.get("view");
  for (const [field, values] of Object.entries(FIELDS)) {
    if (values.includes(said.get(field))) state[field] = said.get(field);
  }
  for (const field of ["a", "b", "mark", "function", "focus", "scan", "kept"]) {
    if (/^\d{1,9}$/.test(said.get(field) ?? "")) state[field] = Number(said.get(field));
  }
  state.a = Math.min(state.a, slices);
  state.b = Math.min(state.b, slices);
  const range = rangeOf(fragment);
  if (range.to > 0) Object.assign(state, range);
  state.inverted = said.get("inverted") === "1";
  if (["0", "1"].includes(said.get("against"))) state.against = said.get("against") === "1";
  if (/^[a-z-]{1,40}$/.test(said.get("table") ?? "")) state.table = said.get("table");
  state.query = (said.get("query") ?? "").slice(0, 200);
  if (["light", "dark"].includes(said.get("theme"))) state.theme = said.get("theme");
  return state;
}

/** The range of time to be shown in detail, in nanoseconds; both are 0 if there is none. */
export function rangeOf(fragment) {
  const said = new URLSearchParams(fragment.replace(/^#/, ""));
  const [from, to] = ["from", "to"].map((field) => (/^\d{1,16}$/.test(said.get(field) ?? "") ? Number(said.get(field)) : 0));
  return to > from ? { from, to } : { from: 0, to: 0 };
}

/** What of a fragment stays valid with other slices and nodes; of another recording not even times do. */
export function carried(fragment, isOtherRecording) {
  const said = new URLSearchParams(fragment.replace(/^#/, ""));
  for (const field of ["a", "b", "focus", "function", "kept"]) said.delete(field);
  if (isOtherRecording) for (const field of ["mark", "from", "to", "scan"]) said.delete(field);
  if (said.get("view") === "function") said.delete("view");
  return `#${said}`;
}

/** The fragment with the differences from `first`. */
export function toFragment(state, first) {
  const said = new URLSearchParams();
  for (const field of ["view", "metric", "unit", "a", "b", "mark", "function", "focus", "scan", "part", "kept", "least", "most", "rows", "cells", "table", "query", "theme", "from", "to"]) {
    if (state[field] !== first[field]) said.set(field, String(state[field]));
  }
  if (state.inverted) said.set("inverted", "1");
  if (state.against !== first.against) said.set("against", state.against ? "1" : "0");
  const text = said.toString();
  return text ? `#${text}` : "";
}
