// The selection: a node of a tree with everything below it, or a single stack. Whatever is derived from it is
// computed once.

import { held } from "./curves.js";
import { rowsByNode } from "./tree.js";

export class Selection {
  /** `fine` is one of the page's nodes, if a single stack is meant. */
  constructor(page, tree, node, fine) {
    Object.assign(this, { page, tree, node, fine });
    this.curves = new Map();
  }

  get isTopDown() {
    return this.tree === this.page.tree;
  }

  /** A node with everything below it, whose rows are contiguous. */
  get isSubtree() {
    return this.isTopDown && this.fine === undefined;
  }

  /** The rows that belong to it. */
  // Cost: proportional to the rows of the selection; for an inverted tree, to all rows.
  get rows() {
    this.found ??= this.find();
    return this.found;
  }

  find() {
    const { page, tree, node, fine } = this;
    const { data } = page;
    if (this.isSubtree) return rowsByNode(tree, data).below(node);
    const nodes = data.columns["row.node"];
    const isIn = fine === undefined ? this.outwards() : (row) => nodes[row] === fine;
    const found = [];
    for (let row = 0; row < nodes.length; row++) if (isIn(row)) found.push(row);
    return Int32Array.from(found);
  }

  /** Tests whether the innermost functions of a row are those on the path to a node of an inverted tree. */
  outwards() {
    const { tree, data } = this.page;
    const nodes = data.columns["row.node"];
    const labels = this.tree.path(this.node).reverse().slice(1).map((step) => this.tree.label[step]);
    return (row) => {
      let at = tree.of[nodes[row]];
      for (const label of labels) {
        if (at === 0 || tree.label[at] !== label) return false;
        at = tree.parent[at];
      }
      return true;
    };
  }

  /** What it has of a measure, and how much of that its function has itself. */
  sum(values) {
    const total = this.isSubtree ? rowsByNode(this.tree, this.page.data).sum(this.node, values) : sumOf(this.rows, values);
    return { total, self: sumOf(this.ownRows(), values) };
  }

  /** The rows that the function itself allocated; none for an inverted tree, where all are. */
  ownRows() {
    if (!this.isTopDown) return new Int32Array(0);
    return this.fine === undefined ? rowsByNode(this.tree, this.page.data).of(this.node) : this.rows;
  }

  /** What it held at each boundary. */
  curve(unit) {
    if (!this.curves.has(unit)) this.curves.set(unit, this.makeCurve(unit));
    return this.curves.get(unit);
  }

  makeCurve(unit) {
    if (this.isSubtree) return this.page.curves(unit).of(this.node);
    const { data } = this.page;
    const changed = new Float64Array(data.slices);
    const [values, slices] = [data.columns[`change.live.${unit}`], data.columns["change.slice"]];
    const { rows } = this;
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index];
      for (let change = data.firstChange[row]; change < data.firstChange[row + 1]; change++) changed[slices[change]] += values[change];
    }
    return held(changed);
  }

  /** Its blocks by class, `sized` or `aged`: for each class with any, its number, bytes and blocks. */
  classes(kind) {
    const { data } = this.page;
    const first = data.firstOf[kind];
    const [classes, bytes, blocks] = ["class", "bytes", "blocks"].map((part) => data.columns[`${kind}.${part}`]);
    const sums = new Map();
    for (const row of this.rows) {
      for (let entry = first[row]; entry < first[row + 1]; entry++) {
        const sum = sums.get(classes[entry]) ?? { place: classes[entry], bytes: 0, blocks: 0 };
        sum.bytes += bytes[entry];
        sum.blocks += blocks[entry];
        sums.set(classes[entry], sum);
      }
    }
    return [...sums.values()].sort((a, b) => a.place - b.place);
  }

  /**
   * What became of its blocks: by the row that freed them, or why there is none (see `ends.js`), the largest first.
   */
  ends(unit) {
    const { firstEnd, columns } = this.page.data;
    const sums = new Map();
    for (const row of this.rows) {
      for (let end = firstEnd[row]; end < firstEnd[row + 1]; end++) addEnd(sums, columns["ended.by"][end], columns, end);
    }
    return largestFirst(sums, unit);
  }

  /** Whose blocks it frees: by the row that allocated them, the largest first. */
  // Cost: visits each end of every row.
  owners(unit) {
    const { firstEnd, columns, rows } = this.page.data;
    const isIn = new Uint8Array(rows);
    for (const row of this.rows) isIn[row] = 1;
    const sums = new Map();
    for (let row = 0; row < rows; row++) {
      for (let end = firstEnd[row]; end < firstEnd[row + 1]; end++) {
        if (columns["ended.by"][end] >= 0 && isIn[columns["ended.by"][end]]) addEnd(sums, row, columns, end);
      }
    }
    return largestFirst(sums, unit);
  }

  /** The page's nodes that it stands for: one for each line that the function was called from. */
  get fines() {
    return this.isTopDown ? this.tree.fines(this.node) : new Int32Array(0);
  }

  /** The page's node with the largest stack: including all lines of the node. */
  heaviest() {
    if (this.fine !== undefined) return this.fine;
    const { page } = this;
    if (this.isTopDown) {
      const sums = page.fineTotals();
      return heaviestOf(this.fines, (fine) => sums[fine]);
    }
    const { value } = page.measured();
    const best = heaviestOf(this.rows, (row) => value[row]);
    return best === undefined ? undefined : page.data.columns["row.node"][best];
  }
}

/** All stacks that contain a function. */
export class WholeFunction extends Selection {
  constructor(page, label) {
    super(page, page.tree, 0);
    this.label = label;
    const { data } = page;
    /** By node of the page, the innermost node at or above it that is the function; −1 if it is not on the stack. */
    this.innermost = new Int32Array(data.nodes).fill(-1);
    for (let node = 1; node < data.nodes; node++) this.innermost[node] = data.label[node] === label ? node : this.innermost[data.parent[node]];
  }

  /** Its rows are not contiguous. */
  get isSubtree() {
    return false;
  }

  find() {
    const nodes = this.page.data.columns["row.node"];
    const found = [];
    for (let row = 0; row < nodes.length; row++) if (this.innermost[nodes[row]] >= 0) found.push(row);
    return Int32Array.from(found);
  }

  ownRows() {
    const { data } = this.page;
    const nodes = data.columns["row.node"];
    return this.rows.filter((row) => data.label[nodes[row]] === this.label);
  }

  /** What each of its lines has of a measure, the largest first. A stack counts for the innermost line. */
  lines(values) {
    const { data } = this.page;
    const nodes = data.columns["row.node"];
    const lines = new Map();
    for (const row of this.rows) {
      if (values[row] === 0) continue;
      const { file, line, text } = data.place(this.innermost[nodes[row]]);
      const key = `${file}\n${line}`;
      if (!lines.has(key)) lines.set(key, { file, line, text, value: 0 });
      lines.get(key).value += values[row];
    }
    return [...lines.values()].filter(({ value }) => value !== 0).sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  }
}

/** Adds an end of blocks to those of a row. */
function addEnd(sums, by, columns, end) {
  const sum = sums.get(by) ?? { by, bytes: 0, blocks: 0, others: { bytes: 0, blocks: 0 } };
  for (const unit of ["bytes", "blocks"]) {
    sum[unit] += columns[`ended.${unit}`][end];
    sum.others[unit] += columns[`ended.others.${unit}`][end];
  }
  sums.set(by, sum);
}

function largestFirst(sums, unit) {
  return [...sums.values()].sort((a, b) => b[unit] - a[unit] || a.by - b.by);
}

function sumOf(rows, values) {
  let sum = 0;
  for (let index = 0; index < rows.length; index++) sum += values[rows[index]];
  return sum;
}

/** The first of the largest ones, in either direction. */
function heaviestOf(all, weight) {
  let best;
  for (const one of all) if (best === undefined || Math.abs(weight(one)) > Math.abs(weight(best))) best = one;
  return best;
}
