// Puts the page together.

import { isDark } from "./colour.js";
import { copyRows, rowsBelow } from "./copy.js";
import { readData } from "./data.js";
import { Details } from "./details.js";
import { el, fill } from "./dom.js";
import { FlameView } from "./flame_view.js";
import { amount, signed } from "./format.js";
import { boundaryOfPeak, isComparable, otherThan } from "./metric.js";
import { FunctionView } from "./function_view.js";
import { GraphView } from "./graph_view.js";
import { MapView } from "./map_view.js";
import { MarksView } from "./marks_view.js";
import { Overview } from "./overview.js";
import { Page } from "./page.js";
import { Loader } from "./loader.js";
import { RetainedView } from "./retained_view.js";
import { isServed, keepScans, source } from "./source.js";
import { SpectrumView } from "./spectrum_view.js";
import { carried, rangeOf } from "./state.js";
import { StacksView } from "./stacks_view.js";
import { TablesView } from "./tables_view.js";
import { TEXT } from "./text.js";
import { Timeline } from "./timeline.js";
import { TreeView } from "./tree_view.js";
import { TreemapView } from "./treemap_view.js";

const VIEW_CLASSES = {
  overview: Overview,
  flame: FlameView,
  tree: TreeView,
  treemap: TreemapView,
  graph: GraphView,
  stacks: StacksView,
  spectrum: SpectrumView,
  tables: TablesView,
  marks: MarksView,
  map: MapView,
  retained: RetainedView,
  function: FunctionView,
};

/** Views that depend on the measure, and those that can be inverted. */
const MEASURED = new Set(["flame", "tree", "treemap", "graph", "stacks", "function"]);
const INVERTIBLE = new Set(["flame", "tree", "treemap"]);

/** Keys that move between tabs. */
const TAB_KEYS = new Set(["ArrowLeft", "ArrowRight", "Home", "End"]);

/** Milliseconds for which a passing message is shown. */
const WHILE_READ = 2500;

class Frame {
  constructor(page, loader) {
    this.page = page;
    this.loader = loader;
    this.views = {};
    this.timeline = new Timeline(page);
    this.details = new Details(page);
    this.tabs = Object.keys(VIEW_CLASSES).map((view) =>
      el("button", { role: "tab", id: `tab-${view}`, "aria-controls": "view", "data-view": view, onclick: () => page.update({ view }) }, TEXT.views[view]),
    );
    this.metric = el(
      "select",
      { id: "metric", onchange: (event) => page.update({ metric: event.target.value }) },
      page.metrics.map((metric) => el("option", { value: metric, title: TEXT.metrics[metric].help }, TEXT.metrics[metric].name)),
    );
    this.units = ["bytes", "blocks"].map((unit) => el("button", { "data-unit": unit, onclick: () => page.update({ unit }) }, TEXT.units[unit]));
    this.unitTools = el("span", { class: "joined", role: "group", "aria-label": TEXT.unit }, this.units);
    this.inverted = el("button", { id: "inverted", title: TEXT.inverted.help, onclick: () => page.update({ inverted: !page.state.inverted }) }, TEXT.inverted.name);
    this.against = el("button", { id: "against", title: TEXT.against.help, onclick: () => page.update({ against: !page.state.against }) });
    this.search = el("input", { type: "search", id: "search", placeholder: TEXT.search.placeholder, "aria-label": TEXT.search.name, oninput: (event) => page.update({ query: event.target.value.slice(0, 200) }) });
    this.cursors = el("div", { class: "cursors", "aria-live": "polite" });
    this.measureTools = el("div", { class: "measure" }, el("label", { for: "metric", class: "visually-hidden" }, TEXT.measure), this.metric, this.unitTools, this.inverted, this.against);
    this.holder = el("main", { id: "view", role: "tabpanel", tabindex: -1 });
    this.help = helpDialog(page.metrics);
    this.said = el("p", { class: "said", role: "status" });
    page.onSaid = (text) => this.say(text);
  }

  /** Shows a passing message. */
  say(text) {
    this.said.textContent = text;
    clearTimeout(this.silence);
    this.silence = setTimeout(() => (this.said.textContent = ""), WHILE_READ);
  }

  /** Copies the tree that is shown: the open rows, or the largest ones below the focus. */
  copy(form) {
    const { page } = this;
    const { state } = page;
    const view = this.views[state.view];
    if (view.copy) view.copy(form);
    else if (INVERTIBLE.has(state.view)) copyRows(page, rowsBelow(page, state.focus < page.shown().tree.length ? state.focus : 0), form);
  }

  build() {
    const { info } = this.page.data;
    const command = info.command.join(" ");
    const name = this.page.fileName();
    const started = new Date(info.started_unix_ns / 1e6);
    const date = info.started_unix_ns > 0 ? started.toISOString().replace("T", " ").slice(0, 16) : "";
    const against = this.page.data.before ? TEXT.against.titled(this.page.olderName()) : "";
    document.title = `${name}${against}${date ? `, ${date}` : ""}`;
    fill(this.against, this.page.data.before && TEXT.against.button(this.page.olderName()));
    fill(
      document.body,
      el(
        "header",
        {},
        el("div", { class: "title" }, el("h1", {}, name), against && el("span", { class: "quiet", title: this.page.data.before.file }, against), el("span", { class: "quiet command", title: command }, command), el("span", { class: "quiet" }, date && TEXT.utc(date))),
        this.search,
        el("button", { class: "icon", title: TEXT.theme.help, "aria-label": TEXT.theme.name, onclick: () => this.nextTheme() }, "◐"),
        el("button", { class: "icon", title: TEXT.keys.help, "aria-label": TEXT.keys.name, onclick: () => this.help.showModal() }, "?"),
      ),
      this.timeline.element,
      this.cursors,
      el("div", { class: "bar-row" }, el("nav", { role: "tablist", "aria-label": TEXT.tabs }, this.tabs), this.measureTools),
      el("div", { class: "columns" }, this.holder, this.details.element),
      this.said,
      this.help,
    );
    this.page.onChanged = () => this.update();
    const { signal } = this.page.left;
    document.addEventListener("keydown", (event) => this.key(event), { signal });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.update(), { signal });
    this.update();
  }

  update() {
    const { page } = this;
    const { state } = page;
    if (state.theme) document.documentElement.dataset.theme = state.theme;
    else delete document.documentElement.dataset.theme;
    for (const tab of this.tabs) {
      const isChosen = tab.dataset.view === state.view;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
    }
    this.holder.setAttribute("aria-labelledby", `tab-${state.view}`);
    this.metric.value = state.metric;
    for (const unit of this.units) {
      unit.setAttribute("aria-pressed", String(unit.dataset.unit === state.unit));
      // In views that do not depend on the measure, bytes are bytes.
      unit.textContent = TEXT.units[MEASURED.has(state.view) ? page.written(unit.dataset.unit) : unit.dataset.unit];
    }
    this.inverted.setAttribute("aria-pressed", String(state.inverted));
    this.against.setAttribute("aria-pressed", String(state.against));
    this.against.hidden = state.view === "graph" || !MEASURED.has(state.view) || !isComparable(page.data, state.metric);
    // The single drawing of a file cannot be changed.
    const isFixed = state.view === "graph" && !page.canAsk;
    this.metric.hidden = !MEASURED.has(state.view) || isFixed;
    this.unitTools.hidden = isFixed;
    this.inverted.hidden = !INVERTIBLE.has(state.view);
    if (this.search.value !== state.query) this.search.value = state.query;
    this.drawCursors();
    this.details.update();
    this.views[state.view] ??= new VIEW_CLASSES[state.view](page);
    const view = this.views[state.view];
    if (this.holder.firstChild !== view.element) fill(this.holder, view.element);
    view.update();
    this.timeline.draw();
  }

  /** The positions of A and B, and what lies between them. */
  drawCursors() {
    const { data, state } = this.page;
    const { unit } = state;
    const held = (boundary) => amount(data.live(boundary, unit), unit);
    const cursor = (name) => [el("span", { class: `badge ${name}` }, name.toUpperCase()), el("span", {}, `${this.page.timeOf(state[name])}  `), el("strong", {}, held(state[name]))];
    const growth = data.live(state.b, unit) - data.live(state.a, unit);
    fill(this.cursors, el("span", { class: "cursor" }, cursor("a")), el("span", { class: "cursor" }, cursor("b")), el("span", { class: "cursor quiet" }, TEXT.detail.between(signed(growth, unit))), this.page.canAsk && this.detailTools());
  }

  /** With a server: buttons to zoom into the range between the cursors, and out again. */
  detailTools() {
    const { page } = this;
    const { state, data } = page;
    const [from, to] = [data.time(Math.min(state.a, state.b)), data.time(Math.max(state.a, state.b))];
    const closer = el("button", { id: "closer", title: TEXT.detail.closerHelp, disabled: to <= from, onclick: () => page.detail(from, to) }, TEXT.detail.closer);
    const all = el("button", { id: "all", hidden: state.to === 0, onclick: () => page.detail(0, 0) }, TEXT.detail.all);
    const now = el("button", { id: "now", title: TEXT.detail.nowHelp, hidden: !data.isRunning, onclick: () => this.loader.ask(rangeOf(location.hash)) }, TEXT.detail.now);
    return el("span", { class: "cursor" }, closer, all, now);
  }

  nextTheme() {
    const { theme } = this.page.state;
    const opposite = isDark() ? "light" : "dark";
    this.page.update({ theme: theme === "" ? opposite : "" });
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || this.help.open) return;
    const { page } = this;
    const { state, data } = page;
    if (event.target === this.search) {
      if (event.key === "Escape") page.update({ query: "" });
      if (event.key === "Escape" || event.key === "Enter") this.search.blur();
      return;
    }
    if (event.target instanceof HTMLSelectElement) return;
    const clamp = (boundary) => Math.max(0, Math.min(data.slices, boundary));
    const move = (cursor, by) => page.update({ [cursor]: clamp(state[cursor] + by) });
    const nextMetric = (by) => page.update({ metric: page.metrics[(page.metrics.indexOf(state.metric) + by + page.metrics.length) % page.metrics.length] });
    const actions = {
      "/": () => this.search.focus(),
      "?": () => this.help.showModal(),
      i: () => page.update({ inverted: !state.inverted }),
      m: () => nextMetric(1),
      M: () => nextMetric(-1),
      c: () => data.before && page.update({ against: !state.against }),
      u: () => page.update({ unit: otherThan(state.unit) }),
      "[": () => move("a", -1),
      "]": () => move("a", 1),
      "{": () => move("a", -10),
      "}": () => move("a", 10),
      ",": () => move("b", -1),
      ".": () => move("b", 1),
      "<": () => move("b", -10),
      ">": () => move("b", 10),
      p: () => page.update({ b: boundaryOfPeak(data) }),
      0: () => page.resetCursors(),
      s: () => this.views[state.view].save?.(),
      t: () => this.nextTheme(),
      y: () => this.copy("text"),
      Y: () => this.copy("markdown"),
      Escape: () => this.views[state.view].escape?.() || this.leave(),
    };
    const view = Object.keys(VIEW_CLASSES)[Number(event.key) - 1];
    const isTab = event.target.getAttribute?.("role") === "tab" && TAB_KEYS.has(event.key);
    if (view) page.update({ view });
    else if (isTab) this.nextTab(event.key);
    else if (actions[event.key]) actions[event.key]();
    else return;
    event.preventDefault();
  }

  /** Undoes the last step inwards: a selection, a focus, or a range of time in detail. */
  leave() {
    const { page } = this;
    if (page.selection) page.select(null);
    else if (page.state.focus > 0) page.update({ focus: 0 });
    else if (page.canAsk && page.state.to > 0) page.detail(0, 0);
  }

  nextTab(key) {
    const { tabs } = this;
    const at = tabs.findIndex((tab) => tab.dataset.view === this.page.state.view);
    const places = { Home: 0, End: tabs.length - 1, ArrowLeft: at - 1 + tabs.length, ArrowRight: at + 1 };
    const next = tabs[places[key] % tabs.length];
    this.page.update({ view: next.dataset.view });
    next.focus();
  }
}

function helpDialog(measures) {
  const rows = TEXT.help.map(([keys, meaning]) => el("tr", {}, el("td", {}, el("kbd", {}, keys)), el("td", {}, meaning)));
  const metrics = measures.map((metric) => el("tr", {}, el("td", {}, TEXT.metrics[metric].name), el("td", {}, TEXT.metrics[metric].help)));
  const dialog = el(
    "dialog",
    { "aria-label": TEXT.keys.name },
    el("h2", {}, TEXT.keys.title),
    el("table", {}, el("tbody", {}, rows)),
    el("h2", {}, TEXT.keys.measures),
    el("table", {}, el("tbody", {}, metrics)),
    el("p", { class: "quiet" }, TEXT.keys.timeline),
    el("form", { method: "dialog" }, el("button", {}, TEXT.close)),
  );
  return dialog;
}

/** Milliseconds after which work continues even if the reader is never idle. */
const PATIENCE = 50;

/** Most milliseconds of work without a break. */
const WITHOUT_BREAK = 8;

/** Works through a generator while the reader is idle, until aborted. */
function whenIdle(work, signal) {
  const later = (step) => (window.requestIdleCallback ? requestIdleCallback(step, { timeout: PATIENCE }) : setTimeout(step, 20));
  const step = () => {
    const end = performance.now() + WITHOUT_BREAK;
    let isDone = signal.aborted;
    while (!isDone && performance.now() < end) isDone = work.next().done;
    if (!isDone) later(step);
  };
  later(step);
}

/** Shows the loaded data, and loads what is requested. */
class Report {
  constructor() {
    this.canAsk = isServed();
    keepScans();
    this.loader = new Loader(
      async (range, signal) => readData(await source(range, signal)),
      (data, range) => this.show(data, range),
      (error) => this.fail(error),
    );
    window.addEventListener("hashchange", () => this.turn());
    this.ask(rangeOf(location.hash));
  }

  /** Loads a range. */
  ask(range) {
    document.documentElement.dataset.loading = "true";
    this.loader.ask(range);
  }

  /** The address has changed: to another range, or to another view of this one. */
  turn() {
    const range = rangeOf(location.hash);
    const isOther = range.from !== this.range?.from || range.to !== this.range?.to;
    if (this.canAsk && (isOther || this.loader.isAtWork)) this.ask(range);
    else if (this.data) this.show(this.data, this.range);
  }

  show(data, range) {
    this.page?.leave();
    this.carry(data);
    Object.assign(this, { data, range, page: new Page(data, this.canAsk) });
    new Frame(this.page, this).build();
    this.settle();
    whenIdle(this.page.preparations(), this.page.left.signal);
  }

  /**
   * Indices of slices, nodes and functions belong to the data they were selected in: with other data they are
   * dropped.
   */
  carry(data) {
    const before = this.data;
    if (!before || before === data) return;
    const isOtherRecording = before.info.file !== data.info.file || before.info.started_unix_ns !== data.info.started_unix_ns;
    const isGrown = before.info.events !== data.info.events || before.nodes !== data.nodes || before.foldedLabel !== data.foldedLabel;
    if (!isOtherRecording && !isGrown) return;
    try {
      history.replaceState(null, "", carried(location.hash, isOtherRecording));
    } catch {
      // If the address cannot be changed, there is no server to request other data from, either.
    }
  }

  fail(error) {
    this.page?.leave();
    // A link may refer to a time that this recording does not have.
    const isZoomed = this.canAsk && rangeOf(location.hash).to > 0;
    const back = isZoomed && el("p", {}, el("a", { id: "all", href: carried(location.hash, true) }, TEXT.detail.all));
    fill(document.body, el("p", { class: "unreadable" }, TEXT.unreadable + error.message), back);
    this.settle();
    throw error;
  }

  /** The data that is shown is what was requested. */
  settle() {
    const { dataset } = document.documentElement;
    delete dataset.loading;
    dataset.ready = "true";
    dataset.mostLoads = this.loader.counts.most;
    dataset.loads = this.loader.counts.begun;
  }
}

new Report();
