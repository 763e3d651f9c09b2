// Looks at the call graph that Graphviz draws: in a page of a file, or of a server. Usage: node drawn.mjs ASSETS BROWSER PAGE EXPECTED PICTURES
// PAGE is a file, or the address of a server. Where EXPECTED says that there is no Graphviz, the page has to say so, too.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { Browser } from "./browser.mjs";

const [assets, program, page, expectedFile, pictures] = process.argv.slice(2);
const { bytes, count, percent } = await import(pathToFileURL(`${assets}/format.js`).href);
const { has_dot: hasDot, is_hostile: isHostile, reports } = JSON.parse(readFileSync(expectedFile, "utf8"));
const isServed = page.startsWith("http:");

const browser = new Browser(program);
const choose = async (selector, value) => {
  await browser.evaluate(`(() => { const select = document.querySelector(${JSON.stringify(selector)}); select.value = ${JSON.stringify(value)}; select.dispatchEvent(new Event("change")); })()`);
  await browser.settled();
};
/** Functions by the whole name, with the lines in their boxes, and the lines over the drawing. */
const boxes = () => browser.evaluate(`[...document.querySelectorAll(".drawing .node")].map((node) => [node.querySelector("title").textContent, [...node.querySelectorAll("text")].map((text) => text.textContent)])`);
const head = () => browser.evaluate(`[...document.querySelectorAll(".drawing .graph > text")].map((text) => text.textContent)`);
const lacks = () => browser.evaluate("document.querySelector('.drawing .lacks')?.textContent ?? null");

/** The smallest share that is drawn, as the page is opened; a page of a file has the usual one. */
const LEAST = isServed ? 0.001 : 0.005;

/** Every function of a report that is large enough has its box, and the box has the report's numbers. */
async function compare(report, unit) {
  const write = unit === "bytes" ? bytes : count;
  const whole = report.total[unit];
  const part = (value) => `${write(value)} (${percent(value, whole)})`;
  const drawn = new Map((await boxes()).map(([name, lines]) => [name, lines.at(-1)]));
  const names = report.functions.map(({ name }) => name);
  let compared = 0;
  for (const { name, [`total_${unit}`]: total, [`self_${unit}`]: self } of report.functions) {
    // Functions of one name in two files are two boxes.
    if (total === 0 || names.indexOf(name) !== names.lastIndexOf(name)) continue;
    const said = self === 0 ? `0 of ${part(total)}` : self === total ? part(total) : `${part(self)} of ${part(total)}`;
    if (total < Math.max(1, Math.ceil(whole * LEAST))) {
      assert.equal(drawn.has(name), false, `${name} is too small to be drawn`);
      continue;
    }
    if (!isHostile) assert.equal(drawn.get(name), said, `${name} by ${report.by}`);
    compared += 1;
  }
  assert.ok(compared > 0 && drawn.size >= compared, `${drawn.size} boxes of ${compared} functions`);
}

/** Colours that are to be told apart, by their brightness. */
const brightness = (selector, property) =>
  browser.evaluate(`(() => {
    const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    context.fillStyle = getComputedStyle(document.querySelector(${JSON.stringify(selector)})).getPropertyValue(${JSON.stringify(property)});
    context.fillRect(0, 0, 1, 1);
    const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
    return red * 0.3 + green * 0.6 + blue * 0.1;
  })()`);

async function lookInBothLights() {
  for (const isDark of [false, true]) {
    const [text, box, behind] = [await brightness(".drawing .node text", "fill"), await brightness(".drawing .node polygon", "fill"), await brightness("body", "background-color")];
    assert.ok(Math.abs(text - box) > 100 && Math.abs(text - behind) > 100, `${text} on ${box} on ${behind}`);
    assert.equal(behind < 100, isDark);
    await browser.screenshot(join(pictures, `graph-${isDark ? "dark" : "light"}.png`));
    await browser.key("t");
  }
}

async function zoom() {
  const width = () => browser.evaluate("document.querySelector('.drawing svg').getBoundingClientRect().width");
  await browser.press("#fit");
  const fitted = await width();
  assert.ok(fitted <= (await browser.evaluate("document.querySelector('.drawing').clientWidth")));
  await browser.press("#larger");
  assert.ok((await width()) > fitted * 1.2);
  await browser.press("#smaller");
  assert.ok(Math.abs((await width()) - fitted) <= 1);
}

/** What a box leads to. */
async function followABox() {
  const name = await browser.evaluate("document.querySelector('.drawing .known title')?.textContent ?? null");
  assert.ok(name, "some function is known");
  await browser.evaluate("document.querySelector('.drawing .known').dispatchEvent(new MouseEvent('click', { bubbles: true }))");
  await browser.settled();
  assert.match(await browser.fragment(), /view=function.*function=\d+/);
  if (/^[ -~]+$/.test(name)) assert.equal(await browser.evaluate("document.querySelector('.function-view h2').textContent"), name);
  await browser.press("#tab-graph");
}

/** A drawing with everything in it that a drawing must not have. */
const HOSTILE = `<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY e "text">]>
<svg viewBox="0 0 10 10" onload="document.title='broken in'" xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">
  <script>document.title = 'broken in'</script><style>*{display:none}</style><image href="http://127.0.0.1:9/x.png"/><use href="http://127.0.0.1:9/y.svg#a"/>
  <foreignObject><img xmlns="http://www.w3.org/1999/xhtml" src="x" onerror="document.title='broken in'"/></foreignObject>
  <g class="node" onclick="document.title='broken in'"><title>f999999</title><g id="a"><a xlink:href="javascript:document.title='broken in'" xlink:title="whole">
  <polygon style="fill:url(http://127.0.0.1:9/z)" fill="url(http://127.0.0.1:9/z)" points="0,0 1,1" filter="url(http://127.0.0.1:9/f)"/>
  <text x="url(http://127.0.0.1:9/x)" y="1">&e;<animate/></text></a></g></g></svg>`;

/** Of whatever lies in a page as its drawing, shapes and texts alone are shown. */
async function takeShapesAlone() {
  const text = readFileSync(page, "utf8");
  const [, packed] = /type="application\/octet-stream">([^<]*)</.exec(text);
  const data = inflateRawSync(Buffer.from(packed, "base64"));
  const length = data.readUInt32LE(0);
  const changed = JSON.parse(data.subarray(4, 4 + length).toString());
  changed.drawing = { svg: HOSTILE };
  const head = Buffer.from(JSON.stringify(changed));
  const size = Buffer.alloc(4);
  size.writeUInt32LE(head.length);
  const made = deflateRawSync(Buffer.concat([size, head, data.subarray(4 + length)])).toString("base64");
  const file = join(pictures, "hostile.html");
  writeFileSync(file, text.replace(packed, () => made));
  await browser.open(file, "#view=graph");
  // That nothing of it may run is the policy's, too; nobody is asked for anything.
  browser.faults = browser.faults.filter((fault) => !/violates the following Content Security Policy.*has been blocked/.test(fault));
  const found = await browser.evaluate(`[...document.querySelectorAll(".drawing svg *")].map((node) => [node.localName, [...node.attributes].map(({ name, value }) => name + "=" + value).join(" "), node.children.length ? "" : node.textContent])`);
  assert.deepEqual(found, [
    ["g", "class=node data-function=999999", ""],
    ["title", "", "whole"],
    ["polygon", "points=0,0 1,1 style=--share: 0.0%;", ""],
    ["text", "y=1", "text"],
  ]);
}

await browser.withoutFaults(async () => {
  await browser.open(page, "#view=graph&least=0.1&most=320");
  if (!hasDot) {
    assert.match(await lacks(), /Graphviz.*not installed.*graphviz/);
    // The browser says of itself what a server refused.
    browser.faults = browser.faults.filter((fault) => !/Failed to load resource.*501/.test(fault));
  } else {
    assert.equal(await lacks(), null);
    const measures = isServed ? [["peak", "peak"], ["leaked", "leaked"], ["allocated", "bytes"], ["temporary", "temporary"]] : [["peak", "peak"]];
    for (const [metric, by] of measures) {
      if (isServed) await choose("#metric", metric);
      for (const unit of isServed ? ["bytes", "blocks"] : ["bytes"]) {
        if (reports[by].functions.every((row) => row[`total_${unit}`] === 0)) continue;
        await compare(reports[by], unit);
        if (isServed) await browser.key("u");
      }
    }
    if (isServed) {
      // At a moment, and between two: what the drawing adds up to is what the cursors say.
      await choose("#metric", "live");
      for (const key of ["<", ","]) await browser.key(key);
      const cursors = await browser.evaluate("[...document.querySelectorAll('.cursor strong')].map((held) => held.textContent)");
      assert.equal((await head())[1], `live: ${cursors[1]}`);
      await choose("#metric", "growth");
      for (const key of ["]", "]", "]"]) await browser.key(key);
      const growth = (await browser.evaluate("document.querySelector('.cursors').textContent")).split("B − A")[1].trim().split("A")[0];
      assert.equal((await head())[1], `growth: ${growth}`);
      // So it is in a part that is shown in detail, whose slices are others.
      await browser.follow("#closer");
      for (const metric of ["allocated", "temporary", "live"]) {
        await browser.press("#tab-tree");
        await choose("#metric", metric);
        const total = await browser.evaluate("document.querySelector('.table.tree .row:not(.head) .cell').textContent");
        await browser.press("#tab-graph");
        if (total !== "0 B") assert.equal((await head())[1], `${metric}: ${total}`);
        else assert.ok(await lacks(), metric);
      }
      await browser.follow("#all");
      await browser.key("0");
      await choose("#metric", "peak");
      // Cut-offs, which the address keeps.
      const all = (await boxes()).length;
      await choose("#least", "10");
      const some = (await boxes()).length;
      assert.ok(some > 0 && some <= all, `${some} of ${all}`);
      assert.match(await browser.fragment(), /least=10/);
      await choose("#least", "0.1");
    }
    await zoom();
    await lookInBothLights();
    if (!isHostile) await followABox();
    assert.equal(await browser.evaluate("[...document.querySelectorAll('.drawing *')].every(({ localName }) => ['svg', 'g', 'title', 'polygon', 'path', 'ellipse', 'text'].includes(localName))"), true);
    if (!isServed) await takeShapesAlone();
    assert.notEqual(await browser.evaluate("document.title"), "broken in");
  }
});
