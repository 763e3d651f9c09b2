// Looks at a page where there is little: no room, no rows, no measure of its own. Usage: node edges.mjs ASSETS BROWSER PAGE WORK TOTALS

import assert from "node:assert/strict";
import { Browser } from "./browser.mjs";

const [, program, page, work, totals] = process.argv.slice(2);
const VIEWS = ["overview", "flame", "tree", "treemap", "graph", "stacks", "spectrum", "threads", "marks", "map", "retained", "function"];
const browser = new Browser(program);
const text = (selector) => browser.evaluate(`document.querySelector(${JSON.stringify(selector)})?.textContent ?? null`);
const fragment = () => browser.evaluate("location.hash");

/** Keys in tables that a search has left without rows do nothing, and break nothing. */
async function lookAtNothing() {
  for (const [view, part] of [["stacks", ".stacks"], ["stacks", ".functions"], ["tree", ".tree"]]) {
    await browser.press(`#tab-${view}`);
    if (part === ".functions") await browser.press("[data-by=function]");
    await browser.evaluate(`(() => { const search = document.querySelector("#search"); search.value = "no function is called so"; search.dispatchEvent(new Event("input")); })()`);
    await browser.settled();
    await browser.evaluate(`document.querySelector('.table${part}').focus()`);
    for (const key of ["ArrowDown", "Enter", "ArrowRight", "End", "Home"]) await browser.key(key);
    if (view === "stacks") assert.match(await text(".stacks-view .tools"), /(?<![\d,])0 (stacks|functions)/);
    await browser.evaluate(`(() => { const search = document.querySelector("#search"); search.value = ""; search.dispatchEvent(new Event("input")); })()`);
    await browser.settled();
  }
  // What rows are of is in the address, as the cells' colours are.
  assert.match(await fragment(), /rows=function/);
  await browser.press("#tab-map");
  if (await browser.evaluate("document.querySelector('canvas.map').width > 0")) await browser.press(".map-view [data-by=stacks]");
  assert.match(await fragment(), /cells=stacks/);
  await browser.open(page, await fragment());
  assert.equal(await browser.evaluate("document.querySelector('.map-view [aria-pressed=true]').dataset.by"), "stacks");
  await browser.press("#tab-stacks");
  assert.equal(await browser.evaluate("document.querySelector('.stacks-view [aria-pressed=true]').dataset.by"), "function");
}

/** Where no measure is shown, the units are those of blocks, whatever is measured elsewhere. */
async function lookAtUnits() {
  const units = () => browser.evaluate("[...document.querySelectorAll('[data-unit]')].map((button) => button.textContent)");
  await browser.press("#tab-flame");
  await browser.evaluate(`(() => { const select = document.querySelector("#metric"); select.value = "cpu"; select.dispatchEvent(new Event("change")); })()`);
  await browser.settled();
  assert.deepEqual(await units(), ["Time", "Samples"]);
  for (const view of ["threads", "spectrum", "overview"]) {
    await browser.press(`#tab-${view}`);
    assert.deepEqual(await units(), ["Bytes", "Blocks"], view);
  }
}

/** The arrows walk through the treemap, and Enter goes into an area. */
async function walkThroughTheTreemap() {
  await browser.press("#tab-treemap");
  await browser.evaluate(`(() => { const select = document.querySelector("#metric"); select.value = "allocated"; select.dispatchEvent(new Event("change")); })()`);
  await browser.settled();
  await browser.evaluate("document.querySelector('canvas.treemap').focus()");
  const names = new Set();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowUp"]) {
    await browser.key(key);
    names.add(await text(".details h2"));
  }
  assert.ok(names.size > 1 && !names.has(null), [...names].join());
  await browser.key("ArrowDown");
  await browser.key("Enter");
  assert.match(await fragment(), /focus=[1-9]/);
  await browser.key("Escape");
  await browser.key("Escape");
  assert.doesNotMatch(await fragment(), /focus=/);
}

/** In a narrow window nothing is beside it, and rows keep their names. */
async function lookThroughANarrowWindow() {
  await browser.send("Emulation.setDeviceMetricsOverride", { width: 380, height: 700, deviceScaleFactor: 1, mobile: false });
  for (const view of VIEWS) {
    await browser.press(`#tab-${view}`);
    const { page: wide, main } = await browser.evaluate("({ page: document.documentElement.scrollWidth, main: document.querySelector('main').scrollWidth - document.querySelector('main').clientWidth })");
    assert.ok(wide <= 380, `${view} is ${wide} pixels wide`);
    assert.ok(main <= 1, `${view} is ${main} pixels wider than its window`);
    const names = await browser.evaluate("[...document.querySelectorAll('main .table .rows .row .cell.name')].map((cell) => cell.getBoundingClientRect().width)");
    for (const width of names) assert.ok(width > 100, `${view} has ${width} pixels for a name`);
  }
}

await browser.withoutFaults(async () => {
  await browser.open(page);
  await lookAtNothing();
  await walkThroughTheTreemap();
  await lookThroughANarrowWindow();
  await browser.open(work);
  await lookAtUnits();
  // Of totals nobody knows what single blocks were.
  await browser.open(totals);
  for (const view of ["spectrum", "threads"]) {
    await browser.press(`#tab-${view}`);
    assert.match(await text("main"), /Unknown: an aggregated recording/, view);
  }
});
