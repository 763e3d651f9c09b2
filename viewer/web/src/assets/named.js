// Names of stacks: how functions are written, and stacks on one line.

import { FOLDED, FUNCTION, IN_MODULE, UNKNOWN } from "./data.js";
import { natural, percent } from "./format.js";
import { fileName, shortestEnds } from "./places.js";
import { TEXT } from "./text.js";
import { topDown } from "./tree.js";

/** Labels of code; the others stand for whole programs, or say what a stack lacks. */
const CODE = new Set([FUNCTION, IN_MODULE, UNKNOWN, FOLDED]);

/** The offset of an unnamed function in its file, within its name: `<in libx.so.1+0x4a2b0>`. */
const START = /\+0x[0-9a-f]+(?=>)/;

/** The most unnamed functions that a wrapper of the allocator calls on its way. */
const MOST_WITHIN_WRAPPER = 3;

/** C names: those of library frames are wrappers; others belong to standard libraries. */
const PLAIN = /^\w+$/;

/**
 * A test for names that contain a text in any case, or its parts between `*`, one after the other; none for an empty
 * text.
 */
export function searching(text) {
  const parts = text.trim().toLowerCase().split("*");
  if (parts.every((part) => part === "")) return null;
  return (name) => {
    const searched = name.toLowerCase();
    let at = 0;
    for (const part of parts) {
      const found = searched.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return true;
  };
}

/** How much of a tree that is shown has a label that matches a search, or a caller with one. */
export function saidOfMatches({ tree, width }, matches, query) {
  let sum = 0;
  let found = 0;
  const isBelow = new Uint8Array(tree.length);
  for (let node = 1; node < tree.length; node++) {
    const above = isBelow[tree.parent[node]];
    const isMatch = matches[tree.label[node]];
    if (isMatch && width[node] > 0) {
      found += 1;
      if (!above) sum += width[node];
    }
    isBelow[node] = above | isMatch;
  }
  return found ? ` “${query}”: ${percent(sum, width[0])}` : ` “${query}”${TEXT.notFound}`;
}

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
    const { name, short, kind, library } = this.data.describe(label);
    if (kind === FOLDED) return { name: TEXT.folded, short: TEXT.folded, className: "made", isFunction: false, isFolded: true };
    const isFunction = kind === FUNCTION;
    // Generated names are styled differently from those of functions.
    return { name, short, className: isFunction ? (library ? "library" : "") : "made", isFunction, isFolded: false };
  }

  /** The nearest caller that is no library frame, even if unnamed; the node itself if there is none. */
  meaningful(node) {
    for (let at = node; at !== 0; at = this.tree.parent[at]) {
      const { library, kind } = this.data.describe(this.tree.label[at]);
      const wrapper = this.wrapperAround(at);
      if (wrapper) at = wrapper;
      else if (!library || kind === FOLDED) return CODE.has(kind) ? at : node;
    }
    return node;
  }

  /**
   * The allocator wrapper that unnamed functions of the same file belong to, as in stripped libraries; 0 if there is
   * none.
   */
  wrapperAround(node) {
    const { label, parent } = this.tree;
    const { module } = this.data.describe(label[node]);
    let at = node;
    for (let inner = 0; inner < MOST_WITHIN_WRAPPER && this.isNameless(label[at]) && this.data.describe(label[at]).module === module; inner++) at = parent[at];
    if (at === node || at === 0) return 0;
    const around = this.data.describe(label[at]);
    return around.library && around.kind === FUNCTION && around.module === module && PLAIN.test(around.short) ? at : 0;
  }

  /** The allocating function and its callers, on one line. */
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
      // Recursive calls are written once, and so are unnamed callers in the same file.
      const isSame = () => tree.label[at] === label || (names.length > 0 && this.asCaller(tree.label[at]) === name && this.isNameless(label));
      for (; at !== 0 && isSame(); at = tree.parent[at]) times += 1;
      names.push(times > 1 ? `${name} ×${times}` : name);
    }
    return names.length ? names : [this.name(tree.label[node]).short];
  }

  /** A function on a line of callers: for an unnamed one the file is enough there. */
  asCaller(label) {
    const { short } = this.name(label);
    return this.isNameless(label) ? short.replace(START, "") : short;
  }

  isNameless(label) {
    return this.data.describe(label).kind === IN_MODULE;
  }

  /** The shortest unambiguous path of a source file. */
  shortPath(file) {
    const files = () => new Set(Array.from(new Set(this.data.columns["place.file"]), (text) => this.data.text(text)));
    this.shortPaths ??= shortestEnds(files());
    return this.shortPaths.get(file) ?? fileName(file);
  }

  /** Sorts labels by their names. */
  compareNames(a, b) {
    return natural(this.name(a).short, this.name(b).short);
  }

  /** Finds the labels that a search is for; without a text there are no matches. */
  seek(text) {
    const isSought = searching(text);
    this.matches = null;
    if (!isSought) return;
    this.matches = new Uint8Array(this.data.foldedLabel + 1);
    for (let label = 0; label < this.data.foldedLabel; label++) {
      this.matches[label] = Number(isSought(this.data.describe(label).name));
    }
    this.matchingStacks = null;
  }

  /** True when a function on a stack of the top-down tree matches. */
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
