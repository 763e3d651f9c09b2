// The results of a scan: which stacks, roots and classes keep which alive, as a tree and as tables. `scan/data.rs`
// writes them.

import { EVERYTHING, FOLDED, MARKER, ROOT, Stacks, UNREACHABLE, readColumns } from "./data.js";
import { Tree } from "./tree.js";

/** Labels of nodes that stand for neither a root nor a stack; those of roots and stacks follow. */
export const HELD = 0;
export const REACHABLE = 1;
export const LOST = 2;
export const SEVERAL = 3;
export const SMALLER = 4;
const FIRST_ROOT = 5;

const KINDS = { [HELD]: EVERYTHING, [REACHABLE]: EVERYTHING, [LOST]: UNREACHABLE, [SEVERAL]: MARKER, [SMALLER]: FOLDED };

/** The data of a scan. */
export function readScan(bytes) {
  const { head, columns } = readColumns(bytes);
  return new Scan(head, columns);
}

export class Scan extends Stacks {
  constructor(head, columns) {
    super(head, columns);
    this.roots = columns["root.name"].length;
    this.stacks = columns["stack.node"].length;
    this.firstStack = FIRST_ROOT + this.roots;
    /** Stacks of unreachable blocks have separate labels, so that they are not confused with what is kept. */
    this.firstLost = this.firstStack + this.stacks;
    this.firstClass = this.firstLost + this.stacks;
    this.labels = this.firstClass + columns["class.name"].length;
    this.kept = this.keptTree();
  }

  // Labels.

  /** The label of a holder, by its number in the columns. */
  labelOfHolder(number) {
    if (number === 0) return SEVERAL;
    return number > 0 ? FIRST_ROOT + number - 1 : this.firstStack - number - 1;
  }

  /** The meaning of a label: a kind, and the number of its root, stack or class. */
  what(label) {
    if (label < FIRST_ROOT) return { kind: KINDS[label] };
    if (label < this.firstStack) return { kind: ROOT, root: label - FIRST_ROOT };
    if (label >= this.firstClass) return { kind: MARKER, ofClass: label - this.firstClass };
    const isLost = label >= this.firstLost;
    return { kind: isLost ? UNREACHABLE : undefined, isLost, stack: label - (isLost ? this.firstLost : this.firstStack) };
  }

  /** The node of a stack, by its number. */
  nodeOf(stack) {
    return this.columns["stack.node"][stack];
  }

  /**
   * The node of the first function that is no library frame, and of the function it called; 0 if it called the allocator.
   */
  meaningful(stack) {
    const own = this.nodeOf(stack);
    const node = this.passLibraryFrames(stack, own, this);
    if (!this.columns["stack.called"][stack]) return { node, called: 0 };
    let called = own;
    while (this.parent[called] !== node) called = this.parent[called];
    return { node, called };
  }

  /** From the node of a stack, here or in other data, to the node of its first function that is no library frame. */
  passLibraryFrames(stack, node, { parent }) {
    let at = node;
    for (let left = this.columns["stack.library_frames"][stack]; left > 0; left--) at = parent[at];
    return at;
  }

  nameOfRoot(root) {
    return this.text(this.columns["root.name"][root]);
  }

  nameOfClass(ofClass) {
    return this.text(this.columns["class.name"][ofClass]);
  }

  // The tree.

  /**
   * Everything that was held: what roots reach, by what keeps it, and what they do not. For each node, `added` is
   * what it has apart from those below it, `own` its own blocks, and `hidden` the number of rows that it stands for,
   * if any.
   */
  keptTree() {
    const { columns, head } = this;
    const tree = new Growing();
    const held = tree.add(0, HELD);
    const reachable = tree.add(held, REACHABLE);
    const levels = columns["kept.level"];
    const above = [reachable];
    levels.forEach((level, row) => {
      const own = this.amounts("kept.own", row);
      const node = tree.add(above[level], this.labelOfHolder(columns["kept.holder"][row]), own, own);
      above[level + 1] = node;
      if (columns["kept.hidden"][row]) tree.add(node, SMALLER, this.amounts("kept.hidden", row), NOTHING, columns["kept.hidden"][row]);
    });
    const { tree: top, unreachable: lost } = head.left_out;
    if (top.rows) tree.add(reachable, SMALLER, top, NOTHING, top.rows);
    if (head.unreachable.blocks) {
      const unreachable = tree.add(held, LOST);
      for (const { label, own, leadsTo, hidden } of this.unreachable) {
        const node = tree.add(unreachable, label, own, own);
        for (const led of leadsTo) tree.add(node, led.label, led.all, led.all);
        if (hidden.rows) tree.add(node, SMALLER, hidden, NOTHING, hidden.rows);
      }
      if (lost.rows) tree.add(unreachable, SMALLER, lost, NOTHING, lost.rows);
    }
    return tree.finish();
  }

  // Tables.

  /** Stacks of reachable blocks, those that retain most first, each with what keeps it. */
  get byStack() {
    this.stackRows ??= this.makeStackRows();
    return this.stackRows;
  }

  makeStackRows() {
    const { columns } = this;
    let next = 0;
    return Array.from(columns["retained.holders"], (number, stack) => {
      const holders = Array.from({ length: number }, () => {
        const place = next++;
        return { label: this.labelOfHolder(columns["holder.number"][place]), ...this.amounts("holder", place) };
      });
      return {
        label: this.firstStack + stack,
        all: this.amounts("retained.all", stack),
        own: this.amounts("retained.own", stack),
        direct: columns["retained.direct.blocks"][stack],
        holders,
        others: columns["retained.others"][stack],
      };
    });
  }

  /** Roots, those that retain most first, and what several of them keep together. */
  get byRoot() {
    this.rootRows ??= this.makeRootRows();
    return this.rootRows;
  }

  makeRootRows() {
    const { columns, head } = this;
    const rows = Array.from(columns["kept_by_root.number"], (root, row) => ({
      label: FIRST_ROOT + root,
      all: this.amounts("kept_by_root.all", row),
      own: this.amounts("kept_by_root.direct", row),
    }));
    const several = { bytes: head.several_bytes, blocks: head.several_blocks };
    return several.blocks ? [...rows, { label: SEVERAL, all: several, own: NOTHING }] : rows;
  }

  /** C++ classes, those that retain most first. */
  get byClass() {
    this.classRows ??= Array.from(this.columns["class.name"], (_, row) => ({
      label: this.firstClass + row,
      all: this.amounts("class.all", row),
      own: this.amounts("class.own", row),
      lost: this.amounts("class.lost", row),
    }));
    return this.classRows;
  }

  /**
   * Stacks of the heads of unreachable blocks, with everything that is unreachable with them: by stack, and how much
   * of it is left out.
   */
  get unreachable() {
    this.lostRows ??= this.makeLostRows();
    return this.lostRows;
  }

  makeLostRows() {
    const { columns } = this;
    let next = 0;
    const led = () => ({ label: this.firstLost + columns["led.stack"][next], all: this.amounts("led", next++) });
    return Array.from(columns["unreachable.stack"], (stack, row) => ({
      label: this.firstLost + stack,
      all: this.amounts("unreachable.all", row),
      own: this.amounts("unreachable.own", row),
      cycles: columns["unreachable.cycles"][row],
      leadsTo: Array.from({ length: columns["unreachable.led"][row] }, led),
      hidden: { rows: columns["unreachable.hidden"][row], ...this.amounts("unreachable.hidden", row) },
    }));
  }

  /** Roots that together keep what no single one does, those that lead to most first. */
  get ofSeveral() {
    return Array.from(this.columns["several.number"], (root, row) => ({ label: FIRST_ROOT + root, ...this.amounts("several", row) }));
  }

  amounts(name, row) {
    return { bytes: this.columns[`${name}.bytes`][row], blocks: this.columns[`${name}.blocks`][row] };
  }
}

const NOTHING = { bytes: 0, blocks: 0 };

/** A tree under construction, parents first. */
class Growing {
  constructor() {
    this.parent = [];
    this.label = [];
    this.hidden = [];
    this.added = { bytes: [], blocks: [] };
    this.own = { bytes: [], blocks: [] };
  }

  add(parent, label, added = NOTHING, own = NOTHING, hidden = 0) {
    for (const unit of ["bytes", "blocks"]) {
      this.added[unit].push(added[unit]);
      this.own[unit].push(own[unit]);
    }
    this.hidden.push(hidden);
    this.label.push(label);
    return this.parent.push(parent) - 1;
  }

  finish() {
    const { hidden } = this;
    const floats = ({ bytes, blocks }) => ({ bytes: Float64Array.from(bytes), blocks: Float64Array.from(blocks) });
    const tree = new Tree(Int32Array.from(this.parent), Int32Array.from(this.label), null);
    return { tree, added: floats(this.added), own: floats(this.own), hidden };
  }
}
