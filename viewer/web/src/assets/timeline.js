// What was held over time, with two cursors: tracks (`tracks.js`), and across all of them what belongs to a time.

import { el, fill, prepare, table } from "./dom.js";
import { amount, bytes, count, moment } from "./format.js";
import { themed } from "./colour.js";
import { boundaryNear } from "./metric.js";
import { RULER, laidOut, ticks, tracksOf } from "./tracks.js";
import { TEXT } from "./text.js";

const GUTTER = 76;
const RIGHT = 12;
const GRIP = 7;

/** Tracks of at least this height have lines at round numbers. */
const ROOMY = 60;

export class Timeline {
  constructor(page) {
    this.page = page;
    this.canvas = el("canvas", { class: "timeline", role: "img", tabindex: -1 });
    this.tip = el("div", { class: "tip", hidden: true });
    this.sliders = ["a", "b"].map((cursor) =>
      el("input", {
        type: "range",
        class: "visually-hidden",
        min: 0,
        max: page.data.slices,
        "aria-label": TEXT.timeline.cursor(cursor.toUpperCase()),
        oninput: (event) => page.update({ [cursor]: Number(event.target.value) }),
      }),
    );
    this.numbers = el("details", { class: "same-numbers", ontoggle: () => this.drawNumbers() }, el("summary", {}, TEXT.sameNumbers));
    this.element = el("section", { class: "timeline-box", "aria-label": TEXT.timeline.name, hidden: page.data.head.untimed }, this.canvas, this.tip, this.sliders, this.numbers);
    this.scans = page.data.info.scans ?? [];
    this.tracks = tracksOf(page.data);
    this.canvas.dataset.tracks = this.tracks.map(({ name }) => name).join(", ");
    const { placed, height } = laidOut(this.tracks);
    Object.assign(this, { placed, height });
    /** How the kinds of tracks are drawn. */
    this.kinds = { area: this.drawAreas, bars: this.drawBars, ruler: this.drawRuler };
    // What belongs to a time extends down to the ruler, where cursors have their names.
    this.ruler = placed.find(({ track }) => track.name === RULER);
    this.listen();
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.up(event));
    canvas.addEventListener("pointercancel", () => (this.drag = null));
    canvas.addEventListener("pointerleave", () => this.hover(null));
    canvas.addEventListener("dblclick", () => this.page.resetCursors());
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  /** The visible time: all of it, or the range shown in detail. */
  seen() {
    const { data, state } = this.page;
    return state.to > state.from ? [state.from, Math.max(Math.min(state.to, data.end), state.from + 1)] : [0, data.end];
  }

  /** Whether a time is visible. Other times have no position in the drawing. */
  isSeen(time) {
    const [from, to] = this.seen();
    return from <= time && time <= to;
  }

  x(time) {
    const [from, to] = this.seen();
    const share = Math.max(0, Math.min(1, (time - from) / (to - from)));
    return GUTTER + share * (this.width - GUTTER - RIGHT);
  }

  boundaryAt(x) {
    const share = (x - GUTTER) / (this.width - GUTTER - RIGHT);
    const [from, to] = this.seen();
    return boundaryNear(this.page.data, from + Math.max(0, Math.min(1, share)) * (to - from));
  }

  down(event) {
    if (event.button !== 0) return;
    const { state, data } = this.page;
    const x = event.offsetX;
    const grips = ["b", "a"].filter((cursor) => Math.abs(this.x(data.time(state[cursor])) - x) <= GRIP);
    this.drag = { start: x, cursor: grips[0], from: this.boundaryAt(x) };
    this.canvas.setPointerCapture(event.pointerId);
  }

  move(event) {
    const here = this.boundaryAt(event.offsetX);
    const { drag } = this;
    if (drag?.cursor) this.page.update({ [drag.cursor]: here });
    else if (drag && Math.abs(event.offsetX - drag.start) > 3) {
      this.page.update({ a: Math.min(drag.from, here), b: Math.max(drag.from, here) });
    }
    this.hover(event.offsetX);
  }

  up(event) {
    const { drag } = this;
    this.drag = null;
    if (drag && !drag.cursor && Math.abs(event.offsetX - drag.start) <= 3) {
      this.page.update({ [event.shiftKey ? "a" : "b"]: drag.from });
    }
  }

  hover(x) {
    this.tip.hidden = x === null || x < GUTTER;
    if (this.tip.hidden) return;
    const { data, state } = this.page;
    const boundary = this.boundaryAt(x);
    const lines = [this.page.timeOf(boundary), TEXT.timeline.live(amount(data.live(boundary, state.unit), state.unit))];
    const near = data.head.marks.filter(({ time_ns: time }) => this.isSeen(time) && Math.abs(this.x(time) - x) <= 4).slice(0, 4);
    near.forEach(({ name, kind }) => lines.push(`${data.text(name)} (${kind})`));
    for (const { number, process, time_ns: time } of this.scansInSight()) if (Math.abs(this.x(time) - x) <= 4) lines.push(TEXT.retained.timeline(number, process ?? ""));
    if (this.selected) lines.push(TEXT.timeline.selected(amount(this.selected[boundary], state.unit)));
    fill(this.tip, lines.map((line) => el("div", {}, line)));
    this.tip.style.left = `${Math.min(x + 12, this.width - 170)}px`;
  }

  /** Redraws everything. */
  draw() {
    const width = this.element.clientWidth;
    if (width < 100) return;
    this.width = width;
    const { data, state } = this.page;
    const context = prepare(this.canvas, width, this.height);
    context.font = `11px ${themed("font")}`;
    context.textBaseline = "middle";
    this.selected = (this.page.isPrepared && this.page.selection?.curve(state.unit)) || null;
    const [from, to] = [Math.min(state.a, state.b), Math.max(state.a, state.b)].map((boundary) => this.x(data.time(boundary)));
    context.fillStyle = themed("range");
    context.fillRect(from, 0, Math.max(to - from, 1), this.ruler.top);
    this.drawRegions(context);
    for (const { track, top } of this.placed) this.kinds[track.kind].call(this, context, track, top);
    this.drawMarks(context);
    this.drawScans(context);
    this.drawPeak(context);
    this.drawCursor(context, "a");
    this.drawCursor(context, "b");
    this.describe();
  }

  /** The regions of the selected mark. */
  drawRegions(context) {
    const { data, state } = this.page;
    if (state.metric !== "during") return;
    context.fillStyle = themed("region");
    const [first, last] = this.seen();
    for (const [from, to] of data.head.regions[state.mark].times_ns) {
      if (to < first || from > last) continue;
      context.fillRect(this.x(from), 0, Math.max(this.x(to) - this.x(from), 1), this.ruler.top);
    }
  }

  /** The name and the scale of a track with values; returns the position of a value in it. */
  drawScale(context, track, top) {
    const { unit } = this.page.state;
    const bottom = top + track.height - 4;
    const highest = track.highest(unit);
    const y = (value) => bottom - (Math.max(value, 0) / (highest || 1)) * (track.height - 14);
    context.fillStyle = themed("quiet");
    context.textAlign = "left";
    context.fillText(track.name, 2, top + 10);
    context.textAlign = "right";
    const write = track.write(unit);
    const most = 4;
    context.strokeStyle = themed("grid");
    context.lineWidth = 1;
    const marks = track.height > ROOMY ? ticks(highest, most, unit === "bytes" ? 1024 : 10) : [];
    for (const mark of marks) {
      // The name of the track is in its upper corner.
      if (y(mark) > top + 22) context.fillText(write(mark), GUTTER - 6, y(mark));
      line(context, GUTTER, Math.round(y(mark)) + 0.5, this.width - RIGHT, Math.round(y(mark)) + 0.5);
    }
    line(context, GUTTER, bottom + 0.5, this.width - RIGHT, bottom + 0.5);
    if (!marks.length) context.fillText(write(highest), GUTTER - 6, top + track.height - 9);
    return { y, bottom };
  }

  /** What was held at boundaries, the maxima in slices, and the selection's part. */
  drawAreas(context, track, top) {
    const { unit } = this.page.state;
    const { y, bottom } = this.drawScale(context, track, top);
    this.drawArea(context, track.most(unit), y, bottom, themed("most"));
    this.drawArea(context, track.values(unit), y, bottom, themed("live"));
    if (this.selected) this.drawLine(context, this.selected, y, themed("text"));
  }

  /** Values of slices: a box each. */
  drawBars(context, track, top) {
    const { data, state } = this.page;
    const { y, bottom } = this.drawScale(context, track, top);
    const values = track.values(state.unit);
    context.fillStyle = themed("rate");
    for (let slice = 0; slice < data.slices; slice++) {
      // On whole pixels: edges within one would show as stripes where slices are narrow.
      const left = Math.round(this.x(data.time(slice)));
      const right = Math.round(this.x(data.time(slice + 1)));
      context.fillRect(left, y(values[slice]), Math.max(right - left, 1), bottom - y(values[slice]));
    }
  }

  drawArea(context, values, y, bottom, colour) {
    const { data } = this.page;
    context.fillStyle = colour;
    context.beginPath();
    context.moveTo(this.x(0), bottom);
    for (let boundary = 0; boundary < values.length; boundary++) context.lineTo(this.x(data.time(boundary)), y(values[boundary]));
    context.lineTo(this.x(data.time(data.slices)), bottom);
    context.fill();
  }

  drawLine(context, values, y, colour) {
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    context.beginPath();
    values.forEach((value, boundary) => context.lineTo(this.x(this.page.data.time(boundary)), y(value)));
    context.stroke();
  }

  /** Round times in the visible range. */
  drawRuler(context, track, top) {
    const [from, to] = this.seen();
    context.fillStyle = themed("quiet");
    context.textAlign = "center";
    context.textBaseline = "middle";
    const [step] = ticks(to - from, Math.max(Math.floor(this.width / 120), 1), 10);
    for (let time = (Math.floor(from / step) + 1) * step; time < to; time += step) {
      const x = Math.round(this.x(time)) + 0.5;
      // The names of the cursors are on the same line.
      const isHidden = ["a", "b"].some((cursor) => Math.abs(this.x(this.page.data.time(this.page.state[cursor])) - x) < 36);
      if (isHidden || x > this.width - 40) continue;
      context.fillText(moment(time, step), x, top + track.height / 2 + 2);
      context.strokeStyle = themed("grid");
      line(context, x, top - 3, x, top + 3);
    }
  }

  drawPeak(context) {
    const { peak_time_ns: time, peak_bytes: peak } = this.page.data.info.totals;
    if (!(peak > 0) || !this.isSeen(time)) return;
    const x = this.x(time);
    context.fillStyle = themed("text");
    context.beginPath();
    context.moveTo(x - 4, 1);
    context.lineTo(x + 4, 1);
    context.lineTo(x, 7);
    context.fill();
    const text = TEXT.timeline.peak(bytes(peak));
    const isLeft = x > this.width - 130;
    context.textAlign = isLeft ? "right" : "left";
    context.textBaseline = "top";
    context.fillText(text, x + (isLeft ? -8 : 8), 0);
    context.textBaseline = "middle";
  }

  /** Marks that the program set, with their names where there is room. */
  drawMarks(context) {
    const { data } = this.page;
    let free = 0;
    context.textAlign = "left";
    for (const { name, time_ns: time } of data.head.marks) {
      if (!this.isSeen(time)) continue;
      const x = Math.round(this.x(time)) + 0.5;
      context.strokeStyle = themed("quiet");
      context.setLineDash([2, 3]);
      line(context, x, 12, x, this.ruler.top);
      context.setLineDash([]);
      if (x < free || this.width - x < 60) continue;
      const text = data.text(name).slice(0, 24);
      context.fillStyle = themed("quiet");
      context.fillText(text, x + 4, 20);
      free = x + 10 + context.measureText(text).width;
    }
  }

  /**
   * Scans in the visible time. A scan at the end of a process may be later than all events; it then belongs to the
   * end of the recording.
   */
  scansInSight() {
    const { from, to } = this.page.state;
    return to > from ? this.scans.filter(({ time_ns: time }) => from <= time && time <= to) : this.scans;
  }

  /** When processes were scanned; the selected scan is highlighted. */
  drawScans(context) {
    const { view, scan: chosen } = this.page.state;
    const last = this.scans.at(-1)?.number;
    const seen = this.scansInSight();
    seen.forEach(({ number, time_ns: time }, place) => {
      const x = Math.round(this.x(time)) + 0.5;
      const isChosen = view === "retained" && number === (chosen || last);
      context.fillStyle = context.strokeStyle = themed(isChosen ? "accent" : "quiet");
      context.lineWidth = isChosen ? 2 : 1;
      line(context, x, this.ruler.top - 14, x, this.ruler.top);
      context.beginPath();
      for (const [right, down] of [[0, -19], [4, -15], [0, -11], [-4, -15]]) context.lineTo(x + right, this.ruler.top + down);
      context.fill();
      // Names are drawn where no other scan is in the way.
      const text = TEXT.retained.short(number);
      const room = context.measureText(text).width + 16;
      const [before, after] = [place - 1, place + 1].map((other) => seen[other] && this.x(seen[other].time_ns));
      const isLeft = x + room > this.width;
      if (isLeft ? x - (before ?? -Infinity) < room : (after ?? Infinity) - x < room) return;
      context.textAlign = isLeft ? "right" : "left";
      context.fillText(text, x + (isLeft ? -8 : 8), this.ruler.top - 15);
    });
    context.lineWidth = 1;
  }

  drawCursor(context, name) {
    const { data, state } = this.page;
    const x = Math.round(this.x(data.time(state[name]))) + 0.5;
    const colour = themed(`cursor-${name}`);
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    line(context, x, 0, x, this.ruler.top);
    context.fillStyle = colour;
    const top = this.ruler.top;
    context.fillRect(x - 8, top, 16, 14);
    context.fillStyle = themed("on-accent");
    context.textAlign = "center";
    context.font = `600 11px ${themed("font")}`;
    context.fillText(name.toUpperCase(), x, top + 7.5);
    context.font = `11px ${themed("font")}`;
  }

  describe() {
    const { data, state } = this.page;
    const said = (cursor) => `${this.page.timeOf(state[cursor])}, ${TEXT.timeline.live(amount(data.live(state[cursor], state.unit), state.unit))}`;
    this.canvas.setAttribute("aria-label", TEXT.timeline.said(said("a"), said("b")));
    this.sliders.forEach((slider, index) => {
      const cursor = index ? "b" : "a";
      slider.value = state[cursor];
      slider.setAttribute("aria-valuetext", said(cursor));
    });
  }

  drawNumbers() {
    if (!this.numbers.open || this.numbers.children.length > 1) return;
    const { data } = this.page;
    const { columns } = data;
    const rows = Array.from({ length: data.slices }, (_, slice) => [
      this.page.timeOf(slice + 1),
      count(columns["slice.live.bytes"][slice]),
      count(columns["slice.live.blocks"][slice]),
      count(columns["slice.most.bytes"][slice]),
      count(columns["slice.allocated.blocks"][slice]),
      count(columns["slice.temporary.blocks"][slice]),
    ]);
    const heads = [...TEXT.timeline.columns];
    for (const { name, exactly } of this.tracks.filter((track) => track.exactly)) {
      heads.push(name);
      rows.forEach((row, slice) => row.push(exactly(slice)));
    }
    this.numbers.append(el("div", { class: "long" }, table(TEXT.timeline.table, heads, rows, new Set(heads.keys()))));
  }
}

function line(context, left, top, right, bottom) {
  context.beginPath();
  context.moveTo(left, top);
  context.lineTo(right, bottom);
  context.stroke();
}
