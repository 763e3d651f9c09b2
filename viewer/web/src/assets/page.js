// The reader's view, and everything derived from it, computed once for all views.

import { Curves } from "./curves.js";
import { amount, duration, moment, percent, signed } from "./format.js";
import { bothSides, boundariesOf, byNode, heldAt, isComparable, lastMoment, measureRows, metricsOf, otherThan, written } from "./metric.js";
import { Named, saidOfMatches } from "./named.js";
import { fileName } from "./places.js";
import { Selection } from "./selection.js";
import { fromFragment, rangeOf, toFragment } from "./state.js";
import { TEXT } from "./text.js";
import { inverted, joined, rowsByNode, totals } from "./tree.js";

/** Nodes of an inverted tree below this share of the total are not opened. */
const LEAST = 0.001;

/** Number of cached results, so that going back and forth costs nothing. */
const MOST_CACHED = 40;

/** Milliseconds between two changes of the address: Chromium ignores more than 200 of them in ten seconds. */
const BETWEEN = 100;

/** Caches the most recently used results. */
class Cache {
  constructor() {
    this.results = new Map();
  }

  of(key, compute) {
    const result = this.results.has(key) ? this.results.get(key) : compute();
    // The most recently used result is last, and is evicted last.
    this.results.delete(key);
    this.results.set(key, result);
    if (this.results.size > MOST_CACHED) this.results.delete(this.results.keys().next().value);
    return result;
  }
}

export class Page extends Named {
  /** `canAsk` when there is a server that can show a range of time in detail. */
  constructor(data, canAsk) {
    super(data);
    this.canAsk = canAsk;
    const range = rangeOf(location.hash);
    const whole = [0, lastMoment(data)];
    const around = range.to > 0 ? boundariesOf(data, range) : whole;
    // In detail, the cursors enclose the range. Without a server there is no detail, and the cursors only mark the
    // range.
    const [a, b] = canAsk ? around : whole;
    this.metrics = metricsOf(data);
    this.first = { view: "overview", metric: "peak", unit: "bytes", a, b, mark: data.regions[0] ?? 0, function: -1, focus: 0, scan: 0, part: "tree", kept: 0, least: "0.5", most: "80", rows: "stack", cells: "held", table: "", inverted: false, against: data.before !== null, query: "", theme: "", from: 0, to: 0 };
    this.state = fromFragment(location.hash, { ...this.first, a: around[0], b: around[1] }, data.slices);
    if (!canAsk) Object.assign(this.state, { from: 0, to: 0 });
    if (!this.metrics.includes(this.state.metric)) this.state.metric = this.first.metric;
    if (!data.regions.includes(this.state.mark)) this.state.mark = this.first.mark;
    this.selection = null;
    this.cache = new Cache();
    this.curvesBy = new Map();
    /** Whether selections can be shown without delay. */
    this.isPrepared = false;
    /** The address as it was last written, when that was, and the timer of the next time. */
    this.address = location.hash;
    this.writtenAt = -Infinity;
    this.writeTimer = 0;
    /** Aborted when another page replaces this one. */
    this.left = new AbortController();
    this.seek(this.state.query);
  }

  /** Another page replaces this one. */
  leave() {
    if (this.writeTimer) this.write();
    this.left.abort();
  }

  /** Changes the view. Nodes of inverted trees are only valid for the measure they were made for. */
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

  /** Calls `onChanged`, once for all changes until the next frame. */
  changed() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      if (this.left.signal.aborted) return;
      this.onChanged?.();
      this.writeSoon();
    });
  }

  /** Writes the view into the address, now or as soon as that may be done again. */
  writeSoon() {
    if (this.writeTimer) return;
    const wait = this.writtenAt + BETWEEN - performance.now();
    if (wait > 0) this.writeTimer = setTimeout(() => this.write(), wait);
    else this.write();
  }

  write() {
    clearTimeout(this.writeTimer);
    this.writeTimer = 0;
    this.writtenAt = performance.now();
    // Once something else was written there, another page is about to replace this one.
    if (location.hash !== this.address) return;
    try {
      history.replaceState(null, "", toFragment(this.state, this.first) || "#");
    } catch {
      // Some browsers do not allow history for pages from files; the page works without.
    }
    this.address = location.hash;
  }

  /** The time of a boundary, precise enough to tell it from the previous one. */
  timeOf(boundary) {
    const { data } = this;
    const time = data.time(boundary);
    // In the view of the whole time, no more precision is needed.
    return this.state.to > 0 ? moment(time, time - data.time(Math.max(boundary - 1, 0))) : duration(time);
  }

  resetCursors() {
    this.update({ a: this.first.a, b: this.first.b });
  }

  /** Requests the time from A to B in detail from the server or, if A and B are 0, everything again. */
  detail(from, to) {
    const said = toFragment({ ...this.state, a: this.first.a, b: this.first.b, focus: 0, from, to }, this.first);
    location.hash = said || "#";
  }

  /** Goes to the flame graph, focused on a node. */
  open(node, metric, against = false) {
    this.select(this.tree, node);
    this.update({ view: "flame", metric, against, inverted: false, focus: node });
  }

  search(query) {
    this.update({ query, view: this.state.view === "overview" ? "flame" : this.state.view });
  }

  /** Selects a node of a tree; `fine` is one of the page's nodes, if a single stack is meant. */
  select(tree, node, fine) {
    this.selection = tree ? new Selection(this, tree, node, fine) : null;
    this.changed();
  }

  // Measures.

  measureKey({ metric, unit, a, b, mark, against } = this.state) {
    return `${metric} ${unit} ${a} ${b} ${mark} ${against}`;
  }

  /** Whether the changes between two captures are shown. */
  isCompared(metric = this.state.metric) {
    return this.state.against && isComparable(this.data, metric);
  }

  /** What each row had in the older capture. */
  before(metric, unit) {
    return bothSides(this.data, metric, unit).before;
  }

  /** What each row has of a measure. */
  rowsBy(metric, unit) {
    const { a, b, mark, against } = this.state;
    const measure = { metric, unit, a, b, mark, against };
    const held = (boundary) => this.cache.of(`held ${unit} ${boundary}`, () => heldAt(this.data, boundary, unit));
    return this.cache.of(`rows ${this.measureKey(measure)}`, () => measureRows(this.data, measure, held));
  }

  /** What was allocated in all regions of a mark; none if rows do not have that. */
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

  /** The top-down tree with the totals of its nodes and, as `own`, what they have themselves. */
  topDownShown() {
    return this.cache.of(`tree ${this.measureKey()}`, () => {
      const { value, width, signed } = this.measured();
      const own = joined(this.tree, byNode(this.data, value));
      const ownWidth = width === value ? own : joined(this.tree, byNode(this.data, width));
      const sums = totals(this.tree, own);
      return { tree: this.tree, own, ownWidth, value: sums, width: width === value ? sums : totals(this.tree, ownWidth), signed };
    });
  }

  /** The tree that is shown. */
  shown() {
    return this.state.inverted ? this.invertedShown() : this.topDownShown();
  }

  invertedShown() {
    return this.cache.of(`inverted ${this.measureKey()}`, () => {
      const { own, ownWidth, width, signed } = this.topDownShown();
      const made = inverted(this.tree, { value: own, width: ownWidth }, Math.max(width[0] * LEAST, 1));
      // Here the function that a stack begins with allocated all of it.
      const isTop = (node) => made.tree.parent[node] === 0 && node > 0;
      return { ...made, own: made.value.map((value, node) => (isTop(node) ? value : 0)), signed };
    });
  }

  /** What nodes have in the other unit; none for an inverted tree, which is made for one unit. */
  otherTotals(unit) {
    if (this.state.inverted) return null;
    const { metric } = this.state;
    return this.cache.of(`other ${unit} ${this.measureKey()}`, () => totals(this.tree, joined(this.tree, byNode(this.data, this.rowsBy(metric, unit).value))));
  }

  /** What nodes of the top-down tree had in the older capture. */
  beforeByNode() {
    const { metric, unit } = this.state;
    return this.cache.of(`before ${metric} ${unit}`, () => totals(this.tree, joined(this.tree, byNode(this.data, this.before(metric, unit)))));
  }

  /** What a node has of the measure, for people; `shown` is the tree that contains it. */
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

  /** The totals of the page's own nodes. */
  fineTotals() {
    return this.cache.of(`fine ${this.measureKey()}`, () => {
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

  /** The name of the older capture's file. */
  olderName() {
    return fileName(this.data.before.file);
  }

  /** The meaning of a unit for the selected measure. */
  written(unit = this.state.unit) {
    return written(this.data, this.state.metric, unit);
  }

  /** The name of a mark. */
  nameOfMark(mark) {
    return this.data.text(this.data.head.regions[mark]?.name ?? -1);
  }

  /** What nodes of the top-down tree held over time. */
  curves(unit) {
    if (!this.curvesBy.has(unit)) this.curvesBy.set(unit, new Curves(rowsByNode(this.tree, this.data), this.data, unit));
    return this.curvesBy.get(unit);
  }

  /** Precomputes what the first selection needs, in small steps that do not block. */
  *preparations() {
    const rows = rowsByNode(this.tree, this.data);
    yield;
    yield this.tree.fines(0);
    const { columns } = this.data;
    yield columns["change.slice"];
    // The present view comes first, so that a quick reader waits less.
    const units = [this.state.unit, otherThan(this.state.unit)];
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

  /** Shows a passing message. */
  say(text) {
    this.onSaid?.(text);
  }

  // The search.

  /** How much matches in the tree that is shown. */
  matched() {
    const { inverted: isInverted, query } = this.state;
    return this.cache.of(`matched ${isInverted} ${this.measureKey()} ${query}`, () => saidOfMatches(this.shown(), this.matches, query));
  }
}
