// Names of stacks: how functions are written, and stacks in a line.

import { FOLDED, FUNCTION, IN_MODULE, UNKNOWN } from "./data.js";
import { natural } from "./format.js";
import { fileName, shortestEnds } from "./places.js";
import { TEXT } from "./text.js";
import { topDown } from "./tree.js";

/** Labels of what a program runs; the others stand for whole programs, or for what a stack lacks. */
const CODE = new Set([FUNCTION, IN_MODULE, UNKNOWN, FOLDED]);

/** Where a function without a name begins in its file, in its name: `<in libx.so.1+0x4a2b0>`. */
const START = /\+0x[0-9a-f]+(?=>)/;

/** More functions without a name than a wrapper of the allocator calls on its way. */
const MOST_WITHIN_WRAPPER = 3;

/** Names of C: of those that are noise the names of wrappers, others are those of standard libraries. */
const PLAIN = /^\w+$/;

/** Between a function and its caller. */
export const ARROW = " ← ";

/** Stacks with their names. */
export class Named {
  constructor(data) {
    this.data = data;
    this.tree = topDown(data);
    this.names = new Map();
    this.matches = null;
  }

  /** How a label is written. */
  name(label) {
    if (!this.names.has(label)) this.names.set(label, this.makeName(label));
    return this.names.get(label);
  }

  makeName(label) {
    const { name, short, kind, noise } = this.data.describe(label);
    if (kind === FOLDED) return { name: TEXT.folded, short: TEXT.folded, className: "made", isFunction: false, isFolded: true };
    const isFunction = kind === FUNCTION;
    // Names that nobody gave are written otherwise than those of functions.
    return { name, short, className: isFunction ? (noise ? "noise" : "") : "made", isFunction, isFolded: false };
  }

  /** The nearest caller that is not the standard library's plumbing, though its name may be unknown; the node itself where there is none. */
  meaningful(node) {
    for (let at = node; at !== 0; at = this.tree.parent[at]) {
      const { noise, kind } = this.data.describe(this.tree.label[at]);
      const wrapper = this.wrapperAround(at);
      if (wrapper) at = wrapper;
      else if (!noise || kind === FOLDED) return CODE.has(kind) ? at : node;
    }
    return node;
  }

  /** The wrapper of the allocator that functions without a name of the same file belong to, as in stripped libraries; 0 where there is none. */
  wrapperAround(node) {
    const { label, parent } = this.tree;
    const { module } = this.data.describe(label[node]);
    let at = node;
    for (let inner = 0; inner < MOST_WITHIN_WRAPPER && this.isNameless(label[at]) && this.data.describe(label[at]).module === module; inner++) at = parent[at];
    if (at === node || at === 0) return 0;
    const around = this.data.describe(label[at]);
    return around.noise && around.kind === FUNCTION && around.module === module && PLAIN.test(around.short) ? at : 0;
  }

  /** The allocating function and its callers, in a line. */
  chain(node, most) {
    return this.functionsOf(node, most).join(ARROW);
  }

  /** The same, each by its name. */
  functionsOf(node, most) {
    return this.functionsFrom(this.meaningful(node), most);
  }

  /** A function and its callers. */
  functionsFrom(node, most) {
    const { tree } = this;
    const names = [];
    let at = node;
    while (at !== 0 && tree.parent[at] !== 0 && names.length < most) {
      const label = tree.label[at];
      const name = names.length ? this.asCaller(label) : this.name(label).short;
      let times = 0;
      // A function that calls itself stands once, and so do callers without a name that are in one file.
      const isSame = () => tree.label[at] === label || (names.length > 0 && this.asCaller(tree.label[at]) === name && this.isNameless(label));
      for (; at !== 0 && isSame(); at = tree.parent[at]) times += 1;
      names.push(times > 1 ? `${name} ×${times}` : name);
    }
    return names.length ? names : [this.name(tree.label[node]).short];
  }

  /** A function in a line of callers: of one without a name the file is enough there. */
  asCaller(label) {
    const { short } = this.name(label);
    return this.isNameless(label) ? short.replace(START, "") : short;
  }

  isNameless(label) {
    return this.data.describe(label).kind === IN_MODULE;
  }

  /** The path of a source file, as short as it can be without being another one's. */
  shortPath(file) {
    const files = () => new Set(Array.from(new Set(this.data.columns["place.file"]), (text) => this.data.text(text)));
    this.shortPaths ??= shortestEnds(files());
    return this.shortPaths.get(file) ?? fileName(file);
  }

  /** Sorts labels by their names. */
  compareNames(a, b) {
    return natural(this.name(a).short, this.name(b).short);
  }

  /** Finds the labels whose names have a text in them; without one there are no matches. */
  seek(text) {
    const query = text.trim().toLowerCase();
    this.matches = null;
    if (!query) return;
    this.matches = new Uint8Array(this.data.foldedLabel + 1);
    for (let label = 0; label < this.data.foldedLabel; label++) {
      this.matches[label] = Number(this.data.describe(label).name.toLowerCase().includes(query));
    }
    this.matchingStacks = null;
  }

  /** True when a function on a stack of the tree from the root matches. */
  stackMatches(node) {
    if (!this.matchingStacks) {
      this.matchingStacks = new Uint8Array(this.tree.length);
      for (let at = 1; at < this.tree.length; at++) {
        this.matchingStacks[at] = this.matches[this.tree.label[at]] | this.matchingStacks[this.tree.parent[at]];
      }
    }
    return this.matchingStacks[node] === 1;
  }
}
