// Reads the data of a page: see `data.rs` for its layout, `columns.rs` for that of the columns.

/** Version of the data of a page that this script reads. */
const VERSION = 1;

/** Columns with numbers that may need more than 32 bits. */
const WIDE = /(\.bytes|\.blocks|\.end)$/;

function column(bytes, start, length, array, rising) {
  let place = start;
  let sum = 0;
  for (let index = 0; index < length; index++) {
    let byte = bytes[place++];
    let number = byte & 0x7f;
    for (let scale = 128; byte >= 0x80; scale *= 128) {
      byte = bytes[place++];
      number += (byte & 0x7f) * scale;
    }
    const value = number % 2 === 0 ? number / 2 : -(number + 1) / 2;
    sum += value;
    array[index] = rising ? sum : value;
  }
  return array;
}

/** What was written: `head` unchanged, and every column by its name. */
export function readColumns(bytes) {
  const headLength = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + headLength)));
  if (head.version !== VERSION) throw new Error(`it has version ${head.version}, not ${VERSION}`);
  const columns = {};
  let start = 4 + headLength;
  for (const { name, count, size, rising } of head.columns) {
    const begin = start;
    // Decoded on first use: a page needs only a few when it is opened.
    const read = () => column(bytes, begin, count, WIDE.test(name) ? new Float64Array(count) : new Int32Array(count), rising);
    let known;
    Object.defineProperty(columns, name, { enumerable: true, get: () => (known ??= read()) });
    start += size;
  }
  return { head, columns };
}

/** The data of a page. */
export function readData(bytes) {
  const { head, columns } = readColumns(bytes);
  return new Data(head, columns);
}

/** Where each of several concatenated lists begins, and where the last one ends. */
function starts(lengths) {
  const first = new Int32Array(lengths.length + 1);
  for (let row = 0; row < lengths.length; row++) first[row + 1] = first[row] + lengths[row];
  return first;
}

/** Stacks, as nodes with places and labels. These are referred to by their index in the columns. */
export class Stacks {
  constructor(head, columns) {
    this.head = head;
    this.columns = columns;
    this.nodes = columns["node.above"].length;
    this.parent = columns["node.above"].map((above, node) => node - above);
    // An extra place before the others for what was folded.
    const labels = columns["place.label"];
    this.foldedLabel = columns["label.name"].length;
    this.label = columns["node.place"].map((place) => (place ? labels[place - 1] : this.foldedLabel));
  }

  text(number) {
    return number < 0 ? "" : this.head.texts[number] ?? "";
  }

  /** Full name, short name, path of the module, kind, and whether it is a library frame. */
  describe(label) {
    if (label === this.foldedLabel) return { name: "", short: "", module: "", kind: FOLDED, library: true };
    const { columns } = this;
    return {
      name: this.text(columns["label.name"][label]),
      short: this.text(columns["label.short"][label]),
      module: this.text(columns["label.module"][label]),
      kind: columns["label.kind"][label],
      library: columns["label.library"][label] === 1,
    };
  }

  /** Source file, line, its text if the page has it, and whether it was inlined, for a node. */
  place(node) {
    const place = this.columns["node.place"][node] - 1;
    if (place < 0) return { file: "", line: 0, text: "", inlined: false };
    const { columns } = this;
    return {
      file: this.text(columns["place.file"][place]),
      line: columns["place.line"][place],
      text: this.text(columns["place.text"]?.[place] ?? -1),
      inlined: columns["place.inlined"][place] === 1,
    };
  }
}

/** Everything that a page knows. Rows are referred to by their index in the columns, too. */
export class Data extends Stacks {
  constructor(head, columns) {
    super(head, columns);
    this.info = head.info;
    /** What the older of two captures says about itself; null for a single capture. */
    this.before = head.before ?? null;
    this.rows = columns["row.node"].length;
    this.slices = columns["slice.end"].length;
    this.firstChange = starts(columns["row.changes"]);
    const [sizes, ages] = ["row.sizes", "row.ages"].map((name) => starts(columns[name] ?? new Int32Array(this.rows)));
    /** Where the entries of each row begin, by kind of class. */
    this.firstOf = { sized: sizes, aged: ages };
    this.firstDuring = starts(columns["row.during"] ?? new Int32Array(this.rows));
    this.firstEnd = starts(columns["row.ends"] ?? new Int32Array(this.rows));
    // When all programs have ended, what the recording still did does not matter.
    this.isRunning = (head.info.processes ?? []).some((process) => process.recorded && process.ended === "running");
    this.end = Math.max(columns["slice.end"][this.slices - 1] || 0, this.isRunning ? head.info.duration_ns : 0, 1);
  }

  /** Whether there are only totals, and single blocks are unknown. */
  get isAggregated() {
    return Boolean(this.info.aggregated);
  }

  /** The label for the number that drawings use; −1 if the page does not have it. */
  labelOf(id) {
    this.labelsById ??= new Map(Array.from(this.columns["label.id"], (number, label) => [number, label]));
    return this.labelsById.get(id) ?? -1;
  }

  /** Whether the stacks of frees were recorded. */
  get tracesFrees() {
    return this.columns["row.ends"] !== undefined;
  }

  /** Time of a boundary; 0 is the beginning, each other one is the end of a slice. */
  time(boundary) {
    return boundary === 0 ? 0 : this.columns["slice.end"][boundary - 1];
  }

  /** Marks for which rows have what they allocated in their regions, as indices in the list of marks by name. */
  get regions() {
    return (this.head.regions ?? []).flatMap(({ number }, mark) => (number === null ? [] : [mark]));
  }

  /** What everything held at a boundary. */
  live(boundary, unit) {
    return boundary === 0 ? 0 : this.columns[`slice.live.${unit}`][boundary - 1];
  }
}

/** Kinds of labels, as numbered in `data/stacks.rs`. */
export const EVERYTHING = 0;
export const PROCESS = 1;
export const FUNCTION = 2;
export const IN_MODULE = 3;
export const UNKNOWN = 4;
export const MARKER = 5;
export const FOLDED = 6;
/** Kinds that occur only in scans. */
export const ROOT = 7;
export const UNREACHABLE = 8;
