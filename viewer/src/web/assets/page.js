// What the reader looks at, and everything that is derived from it once, for all views.

import { Curves } from "./curves.js";
import { amount, duration, moment, percent, signed } from "./format.js";
import { bothSides, boundariesOf, byNode, heldAt, isComparable, lastMoment, measureRows, metricsOf, written } from "./metric.js";
import { Named } from "./named.js";
import { fileName } from "./places.js";
import { Selection } from "./selection.js";
import { fromFragment, rangeOf, toFragment } from "./state.js";
import { TEXT } from "./text.js";
import { inverted, joined, rowsByNode, totals } from "./tree.js";

/** Share of everything below which nodes of an inverted tree are not taken apart. */
const LEAST = 0.001;

/** Results that are kept, so that going back and forth costs nothing. */
const KEPT = 40;

/** Keeps what was computed last. */
class Kept {
  constructor() {
    this.results = new Map();
  }

  of(key, compute) {
    const result = this.results.has(key) ? this.results.get(key) : compute();
    // What was wanted last stands last, and goes last.
    this.results.delete(key);
    this.results.set(key, result);
    if (this.results.size > KEPT) this.results.delete(this.results.keys().next().value);
    return result;
  }
}

export class Page extends Named {
  /** `canAsk` where there is a server that shows a range of time in detail. */
  constructor(data, canAsk) {
    super(data);
    this.canAsk = canAsk;
    const range = rangeOf(location.hash);
    const whole = [0, lastMoment(data)];
    const around = range.to > 0 ? boundariesOf(data, range) : whole;
    // In detail the cursors are around it. Without a server there is no detail, and they only show where it is.
    const [a, b] = canAsk ? around : whole;
    this.metrics = metricsOf(data);
    this.first = { view: "overview", metric: "peak", unit: "bytes", a, b, mark: data.regions[0] ?? 0, function: -1, focus: 0, scan: 0, part: "tree", kept: 0, least: "0.5", most: "80", rows: "stack", cells: "held", inverted: false, against: data.before !== null, query: "", theme: "", from: 0, to: 0 };
    this.state = fromFragment(location.hash, { ...this.first, a: around[0], b: around[1] }, data.slices);
    if (!canAsk) Object.assign(this.state, { from: 0, to: 0 });
    if (!this.metrics.includes(this.state.metric)) this.state.metric = this.first.metric;
    if (!data.regions.includes(this.state.mark)) this.state.mark = this.first.mark;
    this.selection = null;
    this.kept = new Kept();
    this.curvesBy = new Map();
    /** Whether a look at any selection keeps nobody waiting. */
    this.isPrepared = false;
    this.listeners = [];
    /** Aborted when another page takes the place of this one. */
    this.left = new AbortController();
    this.seek(this.state.query);
  }

  /** Tells a view whenever something has changed. */
  listen(listener) {
    this.listeners.push(listener);
  }

  /** Another page is shown from now on. */
  leave() {
    this.left.abort();
    this.listeners = [];
  }

  /** Changes what is looked at. Nodes of inverted trees mean something for their own measure only. */
  update(changes) {
    const before = this.state;
    this.state = { ...before, ...changes };
    const { state } = this;
    const isOther = state.inverted !== before.inverted || (state.inverted && this.measureKey(before) !== this.measureKey());
    if (isOther && changes.focus === undefined) state.focus = 0;
    if (isOther && this.selection?.tree !== this.tree) this.selection = null;
    if (state.query !== before.query) this.seek(this.state.query);
    this.changed();
  }

  changed() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      if (this.left.signal.aborted) return;
      this.listeners.forEach((listener) => listener());
      this.tell();
    });
  }

  /** Puts what is looked at into the address. It takes the browser as long as drawing, so it is done once for each picture. */
  tell() {
    try {
      history.replaceState(null, "", toFragment(this.state, this.first) || "#");
    } catch {
      // Some browsers allow no history to pages from files; the page works without.
    }
  }

  /** The time of a boundary, exactly enough to tell it from the one before. */
  timeOf(boundary) {
    const { data } = this;
    const time = data.time(boundary);
    // Of all of the time there is nothing else to be told apart.
    return this.state.to > 0 ? moment(time, time - data.time(Math.max(boundary - 1, 0))) : duration(time);
  }

  resetCursors() {
    this.update({ a: this.first.a, b: this.first.b });
  }

  /** Asks the server for what happened from A to B in detail, or, at last, for everything again. */
  detail(from, to) {
    const said = toFragment({ ...this.state, a: this.first.a, b: this.first.b, focus: 0, from, to }, this.first);
    location.hash = said || "#";
  }

  /** Goes to the flame graph of a node. */
  open(node, metric, against = false) {
    this.select(this.tree, node);
    this.update({ view: "flame", metric, against, inverted: false, focus: node });
  }

  search(query) {
    this.update({ query, view: this.state.view === "overview" ? "flame" : this.state.view });
  }

  /** Selects a node of a tree; `fine` is one of the page's nodes, where a single stack is meant. */
  select(tree, node, fine) {
    this.selection = tree ? new Selection(this, tree, node, fine) : null;
    this.changed();
  }

  // Measures.

  measureKey({ metric, unit, a, b, mark, against } = this.state) {
    return `${metric} ${unit} ${a} ${b} ${mark} ${against}`;
  }

  /** Whether what has changed since the older of two captures is shown. */
  isCompared(metric = this.state.metric) {
    return this.state.against && isComparable(this.data, metric);
  }

  /** What each row had in the older capture. */
  before(metric, unit) {
    return bothSides(this.data, metric, unit).before;
  }

  /** What each row has by a measure. */
  rowsBy(metric, unit) {
    const { a, b, mark, against } = this.state;
    const measure = { metric, unit, a, b, mark, against };
    const held = (boundary) => this.kept.of(`held ${unit} ${boundary}`, () => heldAt(this.data, boundary, unit));
    return this.kept.of(`rows ${this.measureKey(measure)}`, () => measureRows(this.data, measure, held));
  }

  /** What was allocated in all regions of a mark; none where rows do not tell. */
  allocatedDuring(mark, unit) {
    if (!this.data.regions.includes(mark)) return null;
    return measureRows(this.data, { ...this.state, metric: "during", unit, mark }).value.reduce((sum, value) => sum + value, 0);
  }

  measured() {
    return this.rowsBy(this.state.metric, this.state.unit);
  }

  measuredRows(unit) {
    return this.rowsBy(this.state.metric, unit).value;
  }

  /** The tree from the root inwards with what its nodes have in total, and, as `own`, themselves. */
  topDownShown() {
    return this.kept.of(`tree ${this.measureKey()}`, () => {
      const { value, width, signed } = this.measured();
      const own = joined(this.tree, byNode(this.data, value));
      const ownWidth = width === value ? own : joined(this.tree, byNode(this.data, width));
      const sums = totals(this.tree, own);
      return { tree: this.tree, own, ownWidth, value: sums, width: width === value ? sums : totals(this.tree, ownWidth), signed };
    });
  }

  /** The tree that is to be seen. */
  shown() {
    return this.state.inverted ? this.invertedShown() : this.topDownShown();
  }

  invertedShown() {
    return this.kept.of(`inverted ${this.measureKey()}`, () => {
      const { own, ownWidth, width, signed } = this.topDownShown();
      const made = inverted(this.tree, { value: own, width: ownWidth }, Math.max(width[0] * LEAST, 1));
      // All of it was allocated by the function that a stack begins with here.
      const isTop = (node) => made.tree.parent[node] === 0 && node > 0;
      return { ...made, own: made.value.map((value, node) => (isTop(node) ? value : 0)), signed };
    });
  }

  /** What nodes have of the measure in the other unit; none of an inverted tree, which is made for one. */
  otherTotals(unit) {
    if (this.state.inverted) return null;
    const { metric } = this.state;
    return this.kept.of(`other ${unit} ${this.measureKey()}`, () => totals(this.tree, joined(this.tree, byNode(this.data, this.rowsBy(metric, unit).value))));
  }

  /** What nodes of the tree from the root inwards had in the older capture. */
  beforeByNode() {
    const { metric, unit } = this.state;
    return this.kept.of(`before ${metric} ${unit}`, () => totals(this.tree, joined(this.tree, byNode(this.data, this.before(metric, unit)))));
  }

  /** What a node has of what is measured, as people read it: `shown` is the tree that it is in. */
  sum(shown, node) {
    const { tree, value, width } = shown;
    const unit = this.written();
    if (!shown.signed) return `${amount(value[node], unit)}, ${percent(width[node], width[0])}`;
    if (!this.isCompared() || tree !== this.tree) return signed(value[node], unit);
    const before = this.beforeByNode()[node];
    return `${signed(value[node], unit)}  (${amount(before, unit)} → ${amount(before + value[node], unit)})`;
  }

  totalOf() {
    return this.topDownShown().value[0] ?? 0;
  }

  /** What the page's own nodes have in total. */
  fineTotals() {
    return this.kept.of(`fine ${this.measureKey()}`, () => {
      const sums = byNode(this.data, this.measured().value);
      for (let node = sums.length - 1; node > 0; node--) sums[this.data.parent[node]] += sums[node];
      return sums;
    });
  }

  title() {
    const { metric, unit } = this.state;
    const name = metric === "during" ? `${TEXT.metrics.during.name} “${this.nameOfMark(this.state.mark)}”` : TEXT.metrics[metric].name;
    const since = this.isCompared() ? `, ${TEXT.against.since} ${this.olderName()}` : "";
    return `${name}${since}, ${TEXT.units[this.written(unit)].toLowerCase()}`;
  }

  /** The name of the capture's file. */
  fileName() {
    return fileName(this.data.info.file);
  }

  /** That of the older one. */
  olderName() {
    return fileName(this.data.before.file);
  }

  /** What a unit of the page is for the measure that is chosen. */
  written(unit = this.state.unit) {
    return written(this.data, this.state.metric, unit);
  }

  /** The name of a mark. */
  nameOfMark(mark) {
    return this.data.text(this.data.head.regions[mark]?.name ?? -1);
  }

  /** What nodes of the tree from the root inwards held over time. */
  curves(unit) {
    if (!this.curvesBy.has(unit)) this.curvesBy.set(unit, new Curves(rowsByNode(this.tree, this.data), this.data, unit));
    return this.curvesBy.get(unit);
  }

  /** What the first look at a selection will want, in steps that keep nobody waiting. */
  *preparations() {
    const rows = rowsByNode(this.tree, this.data);
    yield;
    yield this.tree.fines(0);
    const { columns } = this.data;
    yield columns["change.slice"];
    // What is looked at comes first, so that whoever is quick waits for less.
    const units = [this.state.unit, this.state.unit === "bytes" ? "blocks" : "bytes"];
    for (const unit of units) {
      yield columns[`change.live.${unit}`];
      for (const metric of this.metrics) {
        yield this.rowsBy(metric, unit);
        yield rows.runningSums(this.rowsBy(metric, unit).value);
      }
      yield* this.curves(unit).filling;
    }
    yield this.topDownShown();
    yield this.fineTotals();
    this.isPrepared = true;
    if (this.selection) this.changed();
  }

  /** Says in passing that something is done. */
  say(text) {
    this.onSaid?.(text);
  }

  // The search.

  /** How much matches in the tree that is to be seen. */
  matched() {
    const { inverted: isInverted, query } = this.state;
    return this.kept.of(`matched ${isInverted} ${this.measureKey()} ${query}`, () => this.sumOfMatches(this.shown()));
  }

  sumOfMatches({ tree, width }) {
    let sum = 0;
    let found = 0;
    const isBelow = new Uint8Array(tree.length);
    for (let node = 1; node < tree.length; node++) {
      const above = isBelow[tree.parent[node]];
      const matches = this.matches[tree.label[node]];
      if (matches && width[node] > 0) {
        found += 1;
        if (!above) sum += width[node];
      }
      isBelow[node] = above | matches;
    }
    return found ? ` “${this.state.query}”: ${percent(sum, width[0])}` : ` “${this.state.query}”${TEXT.notFound}`;
  }
}
