// What is copied of a tree: a node and the open rows below it.

import { FOLDED, FUNCTION, PROCESS } from "./data.js";
import { amount, counted, percent, signed } from "./format.js";
import { otherThan } from "./metric.js";
import { asMarkdown, asText } from "./outline.js";
import { opened, ordered, visible } from "./rows.js";
import { TEXT } from "./text.js";

/** Rows that are filled when nothing was opened. */
const ROOM = 60;

/** Most rows that are copied. */
const MOST = 2000;

const FORMS = { text: asText, markdown: asMarkdown };

/** The outline of the rows `{ node, indent }` of the tree that is shown. */
export function outlineOf(page, rows) {
  const { unit } = page.state;
  const shown = page.shown();
  const { tree, value, own, signed: isSigned } = shown;
  const other = otherThan(unit);
  const others = page.otherTotals(other);
  const write = (number, kind) => (isSigned ? signed(number, page.written(kind)) : amount(number, page.written(kind)));
  const head = (kind) => TEXT.units[page.written(kind)].toLowerCase();
  const { self, function: name } = page.heads ?? TEXT.columns;
  const columns = [head(unit), !isSigned && TEXT.columns.share, others && head(other), self, name];
  const cells = (node) => [write(value[node], unit), !isSigned && percent(value[node], page.whole?.(node) ?? value[0]), others && write(others[node], other), own[node] === 0 ? "" : write(own[node], unit)];
  const isThere = (cell) => cell !== false && cell !== null;
  return {
    title: [`${page.fileName()}: ${page.title()}${timesOf(page)}`],
    columns: columns.filter(isThere),
    rows: [...rows.slice(0, MOST).map(({ node, indent }) => ({ numbers: cells(node).filter(isThere), indent, ...nameOf(page, tree.label[node]) })), ...leftOut(rows.length - MOST)],
  };
}

/** Notes that there are more rows than are copied. */
function leftOut(rows) {
  return rows > 0 ? [{ numbers: [], indent: 0, name: TEXT.copy.leftOut(counted(rows, TEXT.nouns.moreRow)), isMade: true }] : [];
}

function nameOf(page, label) {
  const { kind } = page.data.describe(label);
  return { name: page.name(label).name, isMade: kind === FOLDED || (kind !== FUNCTION && kind !== PROCESS) };
}

/** The moments, if the measure depends on the cursors. */
function timesOf(page) {
  const { state } = page;
  const at = (cursor) => page.timeOf(state[cursor]);
  if (state.metric === "live") return TEXT.copy.at(at("b"));
  return ["growth", "allocated", "temporary", "frees"].includes(state.metric) ? TEXT.copy.between(at("a"), at("b")) : "";
}

/** The rows of a node and of what is below it, the largest ones as far as there is room. */
export function rowsBelow(page, root) {
  const { tree, value, width, signed: isSigned } = page.shown();
  const names = (a, b) => page.compareNames(a, b);
  return visible(opened(tree, width, ROOM, root), (node) => ordered(tree, node, isSigned ? width : value, names), root);
}

/** Puts rows on the clipboard in some form, and says so. */
export async function copyRows(page, rows, form) {
  await copyText(page, FORMS[form](outlineOf(page, rows)));
}

/** The same for any text. */
export async function copyText(page, text) {
  try {
    await navigator.clipboard.writeText(text);
    page.say(TEXT.copy.done);
  } catch {
    // Browsers only permit this to trusted pages that have the focus.
    page.say(TEXT.copy.refused);
  }
}
