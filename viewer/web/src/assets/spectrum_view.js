// Blocks by size and by lifetime.

import { themed } from "./colour.js";
import { el, fill, prepare, table } from "./dom.js";
import { amount, bytes, count, duration, percent } from "./format.js";
import { TEXT } from "./text.js";

const HEIGHT = 230;
const BOTTOM = 26;
const LEFT = 72;

/** The smallest number in a class: class n holds those from 2^(n-1) to 2^n - 1. */
function least(place) {
  return place === 0 ? 0 : 2 ** (place - 1);
}

function most(place) {
  return place === 0 ? 0 : 2 ** place - 1;
}

export class SpectrumView {
  constructor(page) {
    this.page = page;
    this.sizes = this.chart(TEXT.spectrum.sizes, TEXT.spectrum.sizesHelp);
    this.lives = this.chart(TEXT.spectrum.lives, TEXT.spectrum.livesHelp);
    this.element = el("div", { class: "spectrum-view" }, this.sizes.element, this.lives.element);
    new ResizeObserver(() => this.update()).observe(this.element);
  }

  chart(title, help) {
    const canvas = el("canvas", { role: "img" });
    const list = el("details", { class: "same-numbers" });
    return { title, canvas, list, element: el("section", { class: "card" }, el("h2", {}, title, el("span", { class: "quiet" }, ` ${help}, ${TEXT.function.whole}.`)), canvas, list) };
  }

  update() {
    const { data, state } = this.page;
    if (data.isAggregated) return void fill(this.element, el("section", { class: "card" }, el("h2", {}, TEXT.views.spectrum), el("p", { class: "quiet" }, TEXT.aggregated)));
    const { unit } = state;
    const column = (name) => data.columns[name];
    const all = column(`size.allocated.${unit}`);
    const left = column(`size.left.${unit}`);
    this.draw(this.sizes, all, left, (place) => bytes(least(place)), unit, TEXT.spectrum.neverFreed);
    const life = column(`life.${unit}`);
    this.draw(this.lives, life, null, (place) => duration(least(place)), unit, "");
    const total = all.reduce((a, b) => a + b, 0);
    const sizeRows = places(column("size.allocated.blocks")).map((place) => [
      place < 2 ? bytes(place) : `${bytes(least(place))} … ${bytes(most(place))}`,
      count(column("size.allocated.blocks")[place]),
      count(column("size.allocated.bytes")[place]),
      percent(all[place], total),
      count(column("size.temporary.blocks")[place]),
      count(column("size.left.blocks")[place]),
      count(column("size.left.bytes")[place]),
    ]);
    this.list(this.sizes, TEXT.spectrum.sizeColumns, sizeRows);
    const lifeTotal = life.reduce((a, b) => a + b, 0);
    const lifeRows = places(column("life.blocks")).map((place) => [
      TEXT.spectrum.upTo(duration(most(place))),
      count(column("life.blocks")[place]),
      count(column("life.bytes")[place]),
      percent(life[place], lifeTotal),
    ]);
    this.list(this.lives, TEXT.spectrum.lifeColumns, lifeRows);
  }

  list(chart, heads, rows) {
    fill(chart.list, el("summary", {}, TEXT.sameNumbers), table(chart.title, heads, rows, new Set(heads.keys())));
  }

  draw({ canvas, title, element }, values, marked, name, unit, markedName) {
    const width = element.clientWidth - 32;
    if (width < 100) return;
    const context = prepare(canvas, width, HEIGHT);
    const used = places(values);
    canvas.setAttribute("aria-label", used.length ? TEXT.spectrum.said(title) : TEXT.spectrum.saidNone(title));
    context.font = `11px ${themed("font")}`;
    context.textBaseline = "middle";
    context.fillStyle = themed("quiet");
    if (!used.length) {
      context.fillText(TEXT.spectrum.none, LEFT, HEIGHT / 2);
      return;
    }
    const [first, last] = [used[0], used[used.length - 1]];
    const highest = Math.max(...values);
    const slot = Math.min((width - LEFT - 8) / (last - first + 1), 90);
    const bottom = HEIGHT - BOTTOM;
    const y = (value) => bottom - (value / highest) * (bottom - 16);
    context.textAlign = "right";
    context.strokeStyle = themed("grid");
    for (const share of [0.5, 1]) {
      const at = Math.round(y(highest * share)) + 0.5;
      context.fillText(amount(Math.round(highest * share), unit), LEFT - 8, at);
      context.beginPath();
      context.moveTo(LEFT, at);
      context.lineTo(width, at);
      context.stroke();
    }
    context.textAlign = "center";
    const every = Math.ceil(62 / slot);
    for (let place = first; place <= last; place++) {
      const left = LEFT + (place - first) * slot;
      context.fillStyle = themed("live");
      context.fillRect(left + 2, y(values[place]), slot - 4, bottom - y(values[place]));
      if (marked && marked[place] > 0) {
        context.fillStyle = themed("cursor-b");
        context.fillRect(left + 2, y(marked[place]), slot - 4, bottom - y(marked[place]));
      }
      context.fillStyle = themed("quiet");
      if ((place - first) % every !== 0) continue;
      const text = name(place);
      context.fillText(text, Math.min(left + slot / 2, width - context.measureText(text).width / 2), bottom + 13);
    }
    if (marked && marked.some((value) => value > 0)) {
      context.textAlign = "right";
      context.fillStyle = themed("cursor-b");
      context.fillRect(width - 84, 2, 10, 10);
      context.fillText(markedName, width - 4, 7);
    }
  }
}

function places(values) {
  return [...values.keys()].filter((place) => values[place] !== 0);
}
