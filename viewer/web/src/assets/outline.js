// Rows of a tree to be pasted elsewhere, as text or Markdown: exactly what `report --format` writes for the same
// rows.
//
// An outline has `title`, one entry per line, `columns`, the last one for names, and `rows` of `{ numbers, indent,
// name, isMade }`.

/** Control characters, line separators, and anything that changes the direction of text or is invisible. */
const ACTS = /[\p{Cc}\u{ad}\u{61c}\u{180e}\u{200b}-\u{200f}\u{2028}-\u{202e}\u{2060}-\u{206f}\u{feff}\u{fff9}-\u{fffb}\u{e0000}-\u{e007f}]/gu;

/** The first column is as wide as in the other views. */
const LEAST = 10;

function escaped(text) {
  return text.replace(ACTS, (letter) => `\\u{${letter.codePointAt(0).toString(16)}}`);
}

const length = (text) => [...text].length;

/** As columns of text. */
export function asText({ title, columns, rows }) {
  const numbers = columns.slice(0, -1).map((_, place) => place);
  const widths = numbers.map((place) => Math.max(place === 0 ? LEAST : 0, length(columns[place]), ...rows.map((row) => length(row.numbers[place] ?? ""))));
  const cells = (texts) => numbers.map((place) => `${" ".repeat(widths[place] - length(texts[place] ?? ""))}${texts[place] ?? ""}  `).join("");
  const lines = rows.map((row) => `${cells(row.numbers)}${"  ".repeat(row.indent)}${escaped(row.name)}`);
  return [...title.map(escaped), "", `${cells(columns)}${columns.at(-1)}`, ...lines, ""].join("\n");
}

/** As a Markdown table. */
export function asMarkdown({ title, columns, rows }) {
  const numbers = columns.slice(0, -1);
  const lines = rows.map((row) => `| ${numbers.map((_, place) => `${row.numbers[place] ?? ""} | `).join("")}${nameOf(row)} |`);
  return [...title.map(escaped), "", `| ${columns.join(" | ")} |`, `|${"---:|".repeat(numbers.length)}:---|`, ...lines, ""].join("\n");
}

/** A name as code, delimited by more backticks than it contains; generated names in italics. */
function nameOf({ name, indent, isMade }) {
  const text = escaped(name).replaceAll("|", "\\|");
  const lead = "&nbsp;&nbsp;".repeat(indent);
  if (name === "") return lead;
  if (isMade) return `${lead}*${text.replace(/[<&*_`]/g, (letter) => ({ "<": "&lt;", "&": "&amp;" })[letter] ?? `\\${letter}`)}*`;
  const longest = Math.max(0, ...(text.match(/`+/g) ?? []).map((marks) => marks.length));
  const mark = "`".repeat(longest + 1);
  const space = longest > 0 ? " " : "";
  return `${lead}${mark}${space}${text}${space}${mark}`;
}
