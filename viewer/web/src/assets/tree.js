// Trees of functions, made from the page's nodes, of which a function has one for each line that it was called from.
//
// Every walk is a loop: a stack may be 10,000 functions deep.

/** A tree: by node its parent, its label, and how many of the page's nodes it contains. Parents come first. */
export class Tree {
  constructor(parent, label, of) {
    this.parent = parent;
    this.label = label;
    /** By node of the page, the node of this tree; none in an inverted tree, whose nodes share them. */
    this.of = of;
    this.length = parent.length;
  }

  /** Children of all nodes: those of `node` are `list[first[node]]` to before `list[first[node + 1]]`. */
  get children() {
    this.lists ??= grouped(this.length, this.parent, 1);
    return this.lists;
  }

  childrenOf(node) {
    const { first, list } = this.children;
    return list.subarray(first[node], first[node + 1]);
  }

  /** The path from a node to the root. */
  path(node) {
    const path = [node];
    while (node !== 0) path.push((node = this.parent[node]));
    return path;
  }

  depth(node) {
    return this.path(node).length - 1;
  }

  /** The page's nodes that are merged in a node; none for an inverted tree. */
  fines(node) {
    this.joined ??= grouped(this.length, this.of ?? [], 0);
    const { first, list } = this.joined;
    return list.subarray(first[node], first[node + 1]);
  }

  /**
   * Positions of the nodes in a walk from the root: a node and everything below it are at those from `first[node]` to
   * before `first[node] + size[node]`.
   */
  get places() {
    this.walk ??= walked(this.parent);
    return this.walk;
  }
}

/** Which of some things, from `begin` on, belong to which of so many groups: those of one are `list[first[group]]` to before `list[first[group + 1]]`. */
function grouped(groups, groupOf, begin) {
  const first = new Int32Array(groups + 1);
  for (let index = begin; index < groupOf.length; index++) first[groupOf[index] + 1] += 1;
  for (let group = 0; group < groups; group++) first[group + 1] += first[group];
  const next = first.slice();
  const list = new Int32Array(Math.max(groupOf.length - begin, 0));
  for (let index = begin; index < groupOf.length; index++) list[next[groupOf[index]]++] = index;
  return { first, list };
}

function walked(parent) {
  const size = new Int32Array(parent.length).fill(1);
  for (let node = parent.length - 1; node > 0; node--) size[parent[node]] += size[node];
  const first = new Int32Array(parent.length);
  // Where the next child goes, after everything below the previous ones.
  const next = new Int32Array(parent.length).fill(1);
  for (let node = 1; node < parent.length; node++) {
    const above = parent[node];
    first[node] = next[above];
    next[above] += size[node];
    next[node] = first[node] + 1;
  }
  return { first, size };
}

/** The rows of the data in the order of a walk through a tree: the rows below a node are contiguous. */
class RowsByNode {
  constructor(tree, data) {
    this.tree = tree;
    const { first } = tree.places;
    const places = data.columns["row.node"].map((node) => first[tree.of[node]]);
    this.byPlace = grouped(tree.length, places, 0);
    /** By array of values, their running sums over the rows in that order. */
    this.running = new WeakMap();
  }

  /** The range of the rows of a node and everything below it in that order: from and to. */
  spanOf(node) {
    const { first, size } = this.tree.places;
    return [this.byPlace.first[first[node]], this.byPlace.first[first[node] + size[node]]];
  }

  /** What a node and everything below it have, given what each row has. */
  // Cost: two lookups, after a pass over all rows on the first use of these values.
  sum(node, values) {
    const sums = this.runningSums(values);
    const [from, to] = this.spanOf(node);
    return sums[to] - sums[from];
  }

  runningSums(values) {
    if (!this.running.has(values)) {
      const { list } = this.byPlace;
      const sums = new Float64Array(list.length + 1);
      for (let place = 0; place < list.length; place++) sums[place + 1] = sums[place] + values[list[place]];
      this.running.set(values, sums);
    }
    return this.running.get(values);
  }

  /** The rows of a node and of everything below it. */
  below(node) {
    return this.byPlace.list.subarray(...this.spanOf(node));
  }

  /** The rows of a node itself. */
  of(node) {
    const { byPlace } = this;
    const place = this.tree.places.first[node];
    return byPlace.list.subarray(byPlace.first[place], byPlace.first[place + 1]);
  }
}

/** The rows of the data by the nodes of a top-down tree; computed once. */
export function rowsByNode(tree, data) {
  tree.rows ??= new RowsByNode(tree, data);
  return tree.rows;
}

/**
 * From the processes through their outermost functions down: nodes with the same label below the same node are
 * merged.
 */
export function topDown(data) {
  const parent = new Int32Array(data.nodes);
  const label = new Int32Array(data.nodes);
  const of = new Int32Array(data.nodes);
  label[0] = data.label[0] ?? 0;
  let length = Math.min(data.nodes, 1);
  // Open addressing: a Map of a million pairs takes most of a second.
  let bits = 4;
  while (1 << bits < data.nodes * 2) bits += 1;
  const slots = new Int32Array(1 << bits).fill(-1);
  const mask = slots.length - 1;
  for (let node = 1; node < data.nodes; node++) {
    const above = of[data.parent[node]];
    const name = data.label[node];
    let slot = (Math.imul(above, 0x9e3779b1) ^ Math.imul(name + 1, 0x85ebca6b)) >>> 0;
    slot = (slot ^ (slot >>> 15)) & mask;
    while (slots[slot] >= 0 && (parent[slots[slot]] !== above || label[slots[slot]] !== name)) slot = (slot + 1) & mask;
    if (slots[slot] < 0) {
      slots[slot] = length;
      parent[length] = above;
      label[length] = name;
      length += 1;
    }
    of[node] = slots[slot];
  }
  return new Tree(parent.slice(0, length), label.slice(0, length), of);
}

/** What the nodes of a tree have themselves, given what the page's nodes have. */
export function joined(tree, own) {
  const sums = new Float64Array(tree.length);
  for (let node = 0; node < own.length; node++) sums[tree.of[node]] += own[node];
  return sums;
}

/** What each node and everything below it has. */
export function totals(tree, own) {
  const sums = own.slice();
  for (let node = tree.length - 1; node > 0; node--) sums[tree.parent[node]] += sums[node];
  return sums;
}

/**
 * From the allocating functions outwards to their callers. Nodes with a width below `least` are not opened. Returns
 * the tree with its totals: an inverted tree depends on the measure.
 */
export function inverted(tree, { value, width }, least) {
  const parent = [0];
  const label = [tree.label[0]];
  const sums = { value: [0], width: [0] };
  // Each entry is a stack that allocated, on its way outwards.
  const entries = [];
  for (let node = 1; node < tree.length; node++) if (value[node] !== 0 || width[node] !== 0) entries.push([node, node]);
  const ahead = [[0, entries]];
  while (ahead.length) {
    const [node, here] = ahead.pop();
    const groups = new Map();
    for (const entry of here) {
      const at = entry[1];
      if (at === 0) continue;
      const group = groups.get(tree.label[at]);
      if (group) group.push(entry);
      else groups.set(tree.label[at], [entry]);
    }
    for (const [name, group] of groups) {
      const id = parent.length;
      const sum = { value: 0, width: 0 };
      for (const [stack] of group) {
        sum.value += value[stack];
        sum.width += width[stack];
      }
      parent.push(node);
      label.push(name);
      sums.value.push(sum.value);
      sums.width.push(sum.width);
      if (sum.width >= least) ahead.push([id, group.map(([stack, at]) => [stack, tree.parent[at]])]);
    }
  }
  for (let node = 1; node < parent.length; node++) {
    if (parent[node] !== 0) continue;
    sums.value[0] += sums.value[node];
    sums.width[0] += sums.width[node];
  }
  return {
    tree: new Tree(Int32Array.from(parent), Int32Array.from(label), null),
    value: Float64Array.from(sums.value),
    width: Float64Array.from(sums.width),
  };
}

/** What each label has itself, and including its callees: a function that is on a stack twice counts once. */
export function functions(tree, own, labels) {
  const self = new Float64Array(labels);
  const total = new Float64Array(labels);
  const sums = totals(tree, own);
  const open = new Int32Array(labels);
  const { first, list } = tree.children;
  const ahead = [0];
  while (ahead.length) {
    const node = ahead.pop();
    if (node < 0) {
      open[tree.label[~node]] -= 1;
      continue;
    }
    const label = tree.label[node];
    self[label] += own[node];
    if (open[label] === 0) total[label] += sums[node];
    open[label] += 1;
    ahead.push(~node);
    for (let child = first[node]; child < first[node + 1]; child++) ahead.push(list[child]);
  }
  return { self, total };
}
