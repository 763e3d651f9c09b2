// A scan in the form of the page's trees, so that views that draw a tree can draw this one, too.

import { FUNCTION } from "./data.js";
import { amount, natural, percent } from "./format.js";
import { ARROW, Named, saidOfMatches, searching } from "./named.js";
import { HELD, LOST, REACHABLE, SEVERAL, SMALLER } from "./scan.js";
import { TEXT } from "./text.js";
import { Tree, totals } from "./tree.js";

/** Functions of a stack on one line, and where there is more room. */
const FEW = 6;
const MANY = 40;

const MADE = {
  [HELD]: TEXT.retained.held,
  [REACHABLE]: TEXT.retained.reachable,
  [LOST]: TEXT.retained.unreachable,
  [SEVERAL]: TEXT.retained.several,
  [SMALLER]: TEXT.folded,
};

/** Stands in for the page in views that only need a tree. */
export class Retained {
  constructor(page, scan) {
    Object.assign(this, { page, scan, tree: scan.kept.tree });
    this.left = page.left;
    this.stacks = new Named(scan);
    /** Views use this to look up labels. */
    this.data = { describe: (label) => this.describe(label) };
    this.names = new Map();
    this.selection = null;
    /** Headings of a node's own numbers and of names, when rows are copied. */
    this.heads = { self: TEXT.retained.columns.own, function: TEXT.retained.columns.kept };
    this.shownBy = new Map();
  }

  // What is looked at.

  get state() {
    const { state } = this.page;
    return { unit: state.unit, query: state.query, focus: state.kept, inverted: false };
  }

  update({ focus }) {
    this.page.update({ kept: focus });
  }

  /** A scan has only one tree. */
  measureKey() {
    return "";
  }

  select(tree, node) {
    this.selection = tree ? { tree, node, label: tree.label[node] } : null;
    this.page.changed();
  }

  /** Selects a stack or root, at its largest node in the tree. */
  choose(label) {
    const node = this.largest(label);
    this.selection = { tree: node > 0 ? this.tree : null, node, label };
    this.page.changed();
  }

  /** The node of a label that retains most; 0 if the tree has none. */
  largest(label) {
    const { value } = this.shown();
    let best = 0;
    for (let node = 1; node < this.tree.length; node++) if (this.tree.label[node] === label && (best === 0 || value[node] > value[best])) best = node;
    return best;
  }

  // Numbers.

  shown() {
    const { unit } = this.page.state;
    if (!this.shownBy.has(unit)) {
      const { tree, added, own } = this.scan.kept;
      const value = totals(tree, added[unit]);
      this.shownBy.set(unit, { tree, value, width: value, own: own[unit], signed: false });
    }
    return this.shownBy.get(unit);
  }

  /** What nodes retain in the other unit. */
  otherTotals(unit) {
    return totals(this.tree, this.scan.kept.added[unit]);
  }

  written(unit = this.page.state.unit) {
    return unit;
  }

  sum({ value }, node) {
    return `${amount(value[node], this.written())}, ${percent(value[node], this.whole(node))}`;
  }

  /**
   * What the share of a node refers to, as in `retained`: to everything reachable, or everything unreachable; for
   * these two, to everything.
   */
  whole(node) {
    const { parent, label } = this.tree;
    let part = 0;
    for (let at = parent[node]; at > 0 && part === 0; at = parent[at]) if (label[at] === REACHABLE || label[at] === LOST) part = at;
    return this.shown().value[part];
  }

  title() {
    const { process, pid, number } = this.scan.head.scan;
    return `${TEXT.retained.title(number, process ?? "", pid ?? 0)}, ${TEXT.units[this.written()].toLowerCase()}`;
  }

  fileName() {
    return this.page.fileName();
  }

  say(text) {
    this.page.say(text);
  }

  // Names.

  name(label) {
    if (!this.names.has(label)) this.names.set(label, this.makeName(label));
    return this.names.get(label);
  }

  makeName(label) {
    const { root, stack, ofClass, isLost } = this.scan.what(label);
    const made = (name, className) => ({ name, short: name, className, isFunction: false, isFolded: label === SMALLER });
    if (root !== undefined) return made(this.scan.nameOfRoot(root), "root");
    if (ofClass !== undefined) return made(this.scan.nameOfClass(ofClass), "");
    if (stack === undefined) return made(MADE[label], label === LOST ? "lost" : "made");
    const { node, called } = this.scan.meaningful(stack);
    const by = called > 0 ? this.stacks.name(this.scan.label[called]).short : "";
    return { name: (by && by + ARROW) + this.line(node, MANY), short: this.line(node, FEW), first: this.line(node, 1), by, className: isLost ? "lost" : "", isFunction: true, isFolded: false };
  }

  /** A function with its place and its callers, on one line. */
  line(fine, most) {
    const { file, line } = this.scan.place(fine);
    const place = file && ` (${this.page.shortPath(file)}${line ? `:${line}` : ""})`;
    const [first, ...callers] = this.stacks.functionsFrom(this.stacks.tree.of[fine], most);
    return [first + place, ...callers].join(ARROW);
  }

  /** A stack has the colour of the function that its name begins with. */
  describe(label) {
    const { kind, root, stack, isLost } = this.scan.what(label);
    const { name } = this.name(label);
    const nothing = { name, short: name, module: "", kind, library: false };
    if (stack === undefined || root !== undefined) return nothing;
    const { module, library } = this.scan.describe(this.scan.label[this.scan.meaningful(stack).node]);
    return { ...nothing, module, kind: isLost ? kind : FUNCTION, library };
  }

  compareNames(a, b) {
    return natural(this.name(a).short, this.name(b).short);
  }

  // The search.

  /** Matching labels: roots and classes by their names, stacks by any function on them. */
  get matches() {
    const { query } = this.page.state;
    if (query !== this.sought) {
      this.sought = query;
      this.found = this.seek(query);
    }
    return this.found;
  }

  seek(query) {
    const { scan, stacks } = this;
    stacks.seek(query);
    if (!stacks.matches) return null;
    const isSought = searching(query);
    return Uint8Array.from({ length: scan.labels }, (_, label) => {
      const { root, stack, ofClass } = scan.what(label);
      const matches = (name) => Number(isSought(name));
      if (root !== undefined) return matches(scan.nameOfRoot(root));
      if (ofClass !== undefined) return matches(scan.nameOfClass(ofClass));
      return stack === undefined ? 0 : Number(stacks.stackMatches(stacks.tree.of[scan.nodeOf(stack)]));
    });
  }

  /** How much is kept by what matches, or is itself a match. */
  matched() {
    return saidOfMatches(this.shown(), this.matches, this.state.query);
  }

  // The page.

  /** The page's node of a stack; −1 if the page has folded it. */
  inPage(stack) {
    const { scan, page } = this;
    const { data } = page;
    this.fineTree ??= new Tree(data.parent, data.label, null);
    const path = [];
    for (let at = scan.nodeOf(stack); at !== 0; at = scan.parent[at]) path.push(at);
    let here = 0;
    for (const node of path.reverse()) {
      const { name } = scan.describe(scan.label[node]);
      const { file, line, inlined } = scan.place(node);
      const isIt = (child) => {
        const place = data.place(child);
        return place.line === line && place.inlined === inlined && place.file === file && data.describe(data.label[child]).name === name;
      };
      const child = this.fineTree.childrenOf(here).find(isIt);
      if (child === undefined) return -1;
      here = child;
    }
    return here;
  }
}
