// A page of two captures has what `diff` says of them, and shows it. Usage: node compared.mjs ASSETS BROWSER PAGE EXPECTED PICTURES [ADDRESS]
// With an address it is looked at there, at a server's.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { inflateRawSync } from "node:zlib";
import { Browser } from "./browser.mjs";

const [assets, program, page, expectedFile, pictures, address] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${assets}/${name}.js`).href);
const { readData } = await load("data");
const { bytes, count, signed } = await load("format");
const { byNode, bothSides, isComparable, measureRows } = await load("metric");
const { joined, topDown, totals } = await load("tree");

const packed = /type="application\/octet-stream">([^<]*)</.exec(readFileSync(page, "utf8"))[1];
const data = readData(inflateRawSync(Buffer.from(packed, "base64")));
const expected = JSON.parse(readFileSync(expectedFile, "utf8"));
const tree = topDown(data);
const name = (node) => data.describe(tree.label[node]).name;

assert.deepEqual(data.info, expected.info, "what the newer capture says of itself");
assert.deepEqual(data.before, expected.before, "and the older one");
assert.equal(isComparable(data, "live"), false, "moments of one capture are not compared with another");

const measures = [["peak", "peak"], ["leaked", "leaked"], ["allocated", "bytes"], ["temporary", "temporary"]];

/** By path, what nodes have that changed. */
function byPath(length, parent, nameOf, numbers) {
  const paths = [];
  const found = [];
  for (let node = 0; node < length; node++) {
    paths[node] = node === 0 ? nameOf(0) : `${paths[parent(node)]}\n${nameOf(node)}`;
    if (numbers(node).some((number) => number !== 0)) found.push([paths[node], numbers(node)]);
  }
  return Object.fromEntries(found.sort());
}

// Node by node: change, what of it is the function's own, and what changed in either direction.
for (const [metric, by] of measures) {
  const rows = ["bytes", "blocks"].map((unit) => measureRows(data, { metric, unit, a: 0, b: 0, against: true }));
  assert.ok(rows.every(({ signed }) => signed));
  const own = rows.map(({ value }) => joined(tree, byNode(data, value)));
  const gross = rows.map(({ value }) => totals(tree, joined(tree, byNode(data, value.map(Math.abs)))));
  const sums = own.map((values) => totals(tree, values));
  const ours = byPath(tree.length, (node) => tree.parent[node], name, (node) => [...sums, ...own, ...gross].map((sum) => sum[node]));
  const { nodes } = expected.trees[by];
  const fields = ["delta_bytes", "delta_blocks", "self_delta_bytes", "self_delta_blocks", "gross_bytes", "gross_blocks"];
  const theirs = byPath(nodes.length, (node) => nodes[node].parent, (node) => nodes[node].name, (node) => fields.map((field) => nodes[node][field]));
  assert.ok(Object.keys(theirs).length > 0, by);
  assert.deepEqual(ours, theirs, `${metric}, as a tree`);
  // A picture has room for both sides of everything.
  const [{ width }] = rows;
  const { before, after } = bothSides(data, metric, "bytes");
  assert.ok(width.every((room, row) => room >= before[row] && room >= after[row]));
  // Stack by stack.
  const stacks = [...rows[0].value.keys()].map((row) => [rows[0].value[row], rows[1].value[row], before[row], after[row]]).filter(([size, blocks]) => size !== 0 || blocks !== 0);
  const listed = expected.rows[by].rows.map((row) => [row.delta_bytes, row.delta_blocks, row.before_bytes, row.after_bytes]);
  assert.deepEqual(stacks.sort(), listed.sort(), `${metric}, by stack`);
}

const { total } = expected.rows.peak;
const browser = new Browser(program);
const text = (selector) => browser.evaluate(`document.querySelector(${JSON.stringify(selector)})?.textContent ?? null`);
const texts = (selector) => browser.evaluate(`[...document.querySelectorAll(${JSON.stringify(selector)})].map((cell) => cell.textContent)`);

/** How many boxes of the flame graph are redder than they are blue, and the other way round, by one point in each. */
const colours = () =>
  browser.evaluate(`(() => {
    const canvas = document.querySelector("canvas.flame");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const found = { red: 0, blue: 0 };
    for (let at = 0; at < data.length; at += 4) {
      if (data[at] > data[at + 2] + 60) found.red += 1;
      if (data[at + 2] > data[at] + 60) found.blue += 1;
    }
    return found;
  })()`);

await browser.withoutFaults(async () => {
  await browser.open(address ?? page);
  assert.match(await browser.evaluate("document.title"), /^newer\.memprof since older\.memprof/);
  // At a glance: both totals, and which functions changed most.
  const { totals: now } = expected.info;
  const { totals: then } = expected.before;
  assert.deepEqual(await texts("[data-compared=peak] td"), [bytes(then.peak_bytes), bytes(now.peak_bytes), signed(total.delta_bytes, "bytes")]);
  assert.deepEqual(await texts("[data-compared=temporary] td"), [count(then.temporary), count(now.temporary), signed(now.temporary - then.temporary)]);
  const grown = await browser.evaluate("[...document.querySelectorAll('[data-grown]')].map((row) => [row.dataset.grown, row.querySelector('.name').textContent])");
  assert.deepEqual(grown, [["-9000", "shrinks"], ["6000", "comes"], ["-5000", "goes"], ["3000", "grows"], ["800", "moves"]]);
  await browser.screenshot(join(pictures, "compared.png"));
  // The way from there leads to its box, which is as wide as it was before.
  await browser.press("[data-grown='-9000'] button");
  assert.match(await browser.fragment(), /view=flame.*focus=\d+/);
  assert.ok((await text(".crumbs strong")).includes(`${bytes(-9000)}  (${bytes(12000)} → ${bytes(3000)})`), await text(".crumbs"));
  assert.ok((await text(".details tr.chosen")).includes(`${bytes(12000)} → ${bytes(3000)}`), await text(".details"));
  await browser.key("Escape");
  await browser.key("Escape");
  const both = await colours();
  assert.ok(both.red > 500 && both.blue > 500, `what grew is red, what shrank is blue: ${JSON.stringify(both)}`);
  await browser.screenshot(join(pictures, "flame.png"));
  // As a table, with its total.
  await browser.press("#tab-tree");
  assert.ok((await text(".table.tree .rows .row")).startsWith(signed(total.delta_bytes, "bytes")), await text(".table.tree"));
  for (const view of ["treemap", "stacks", "function", "tree"]) await browser.press(`#tab-${view}`);
  // The newer capture alone, and back: the address says so.
  await browser.key("c");
  assert.match(await browser.fragment(), /against=0/);
  assert.ok((await text(".table.tree .rows .row")).startsWith(bytes(now.peak_bytes)), await text(".table.tree"));
  assert.equal(await browser.evaluate("document.querySelector('#against').getAttribute('aria-pressed')"), "false");
  await browser.press("#against");
  assert.doesNotMatch(await browser.fragment(), /against/);
  // What only the newer one has is not compared.
  await browser.evaluate("(() => { const select = document.querySelector('#metric'); select.value = 'live'; select.dispatchEvent(new Event('change')); })()");
  await browser.settled();
  assert.equal(await browser.evaluate("document.querySelector('#against').hidden"), true);
});
