// Looks at a page where there is little: no room, no rows, no measure of its own. Usage: node edges.mjs ASSETS BROWSER PAGE WORK TOTALS

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { Browser } from "./browser.mjs";

const [assets, program, page, work, totals] = process.argv.slice(2);
const { TEXT } = await import(pathToFileURL(`${assets}/text.js`).href);
const VIEWS = Object.keys(TEXT.views);
const browser = new Browser(program);
const text = (selector) => browser.evaluate(`document.querySelector(${JSON.stringify(selector)})?.textContent ?? null`);
const fragment = () => browser.fragment();

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
  for (const view of ["tables", "spectrum", "overview"]) {
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

/** In a low window, as at 200 % zoom, views keep their room and the page scrolls. */
async function lookThroughALowWindow() {
  await browser.send("Emulation.setDeviceMetricsOverride", { width: 720, height: 450, deviceScaleFactor: 2, mobile: false });
  for (const view of VIEWS) {
    await browser.press(`#tab-${view}`);
    await browser.evaluate("document.querySelector('main').scrollIntoView({ block: 'end' })");
    const { top, bottom } = await browser.evaluate("(({ top, bottom }) => ({ top, bottom }))(document.querySelector('main').getBoundingClientRect())");
    assert.ok(Math.min(bottom, 450) - Math.max(top, 0) > 250, `${view} is from ${top} to ${bottom}`);
  }
}

/** A table that is too long to be laid out shows the rows that keys lead to. */
async function walkThroughALongTable() {
  const modules = ["dom.js", "table.js"].map((name) => readFileSync(`${assets}/${name}`, "utf8").replace(/^import .*$|^export /gm, ""));
  await browser.send("Page.navigate", { url: "about:blank" });
  const walked = await browser.evaluate(`(() => {
    ${modules.join("")}
    const rows = Array.from({ length: 1_000_000 }, (_, index) => index);
    const long = new VirtualTable({ name: "long", label: "long", columns: [{ key: "name", title: "" }], cell: String });
    document.body.append(long.element);
    long.scroller.style = "height: 300px; overflow: auto; position: relative";
    long.space.style.position = "relative";
    long.body.style = "position: absolute; top: 0";
    long.body.className += " drawn";
    document.head.append(el("style", {}, ".drawn .row { height: 24px }"));
    long.show(rows, null);
    const sight = long.scroller.getBoundingClientRect();
    return [0, 11, 500_000, 500_012, 499_000, 999_999, 0].map((index) => {
      long.reveal(index);
      const row = long.body.querySelector(".active")?.getBoundingClientRect();
      return row !== undefined && row.top > sight.top - 24 && row.bottom < sight.bottom + 24 ? index : -1;
    });
  })()`);
  assert.deepEqual(walked, [0, 11, 500_000, 500_012, 499_000, 999_999, 0]);
}

await browser.withoutFaults(async () => {
  await browser.open(page);
  await lookAtNothing();
  await walkThroughTheTreemap();
  await lookThroughANarrowWindow();
  await lookThroughALowWindow();
  await browser.open(work);
  await lookAtUnits();
  // Of totals nobody knows what single blocks were.
  await browser.open(totals);
  for (const view of ["spectrum", "tables"]) {
    await browser.press(`#tab-${view}`);
    assert.match(await text("main"), /Unknown: an aggregated recording/, view);
  }
  await walkThroughALongTable();
});
