// A page of several captures has the sums that `report` has of them, and no timeline; that of versions compares as `diff`.
// Usage: node together.mjs ASSETS PAGE VERSIONS EXPECTED [BROWSER]

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { inflateRawSync } from "node:zlib";
import { Browser } from "./browser.mjs";

const [assets, page, versions, expectedFile, program] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${assets}/${name}.js`).href);
const { readData } = await load("data");
const { bothSides, byNode, measureRows, metricsOf } = await load("metric");
const { joined, topDown, totals } = await load("tree");
const { TEXT } = await load("text");

/** The data of a page. */
function dataOf(file) {
  const packed = /type="application\/octet-stream">([^<]*)</.exec(readFileSync(file, "utf8"))[1];
  return readData(inflateRawSync(Buffer.from(packed, "base64")));
}

const data = dataOf(page);
const expected = JSON.parse(readFileSync(expectedFile, "utf8"));
const tree = topDown(data);

assert.equal(data.info.captures, expected.peak.captures, "how many they are");
assert.deepEqual(metricsOf(data).slice(0, 4), ["peak", "leaked", "allocated", "temporary"], "no measure has a time");

/** Sums by the names on the way to each node. */
function byPath(length, parent, nameOf, sums) {
  const paths = [];
  const found = new Map();
  for (let node = 0; node < length; node++) {
    paths[node] = node === 0 ? nameOf(0) : `${paths[parent(node)]}\n${nameOf(node)}`;
    const known = found.get(paths[node]) ?? [0, 0];
    found.set(paths[node], sums(node).map((sum, index) => sum + known[index]));
  }
  return Object.fromEntries([...found].filter(([, sums]) => sums.some((sum) => sum !== 0)).sort());
}

for (const [metric, by] of [["peak", "peak"], ["leaked", "leaked"], ["allocated", "bytes"], ["temporary", "temporary"]]) {
  const sums = ["bytes", "blocks"].map((unit) => totals(tree, joined(tree, byNode(data, measureRows(data, { metric, unit, a: 0, b: data.slices }).value))));
  const ours = byPath(tree.length, (node) => tree.parent[node], (node) => data.describe(tree.label[node]).name, (node) => sums.map((sum) => sum[node]));
  const { nodes } = expected[by];
  assert.ok(nodes.length > 1, by);
  assert.deepEqual(ours, byPath(nodes.length, (node) => nodes[node].parent, (node) => nodes[node].name, (node) => [nodes[node].total_bytes, nodes[node].total_blocks]), metric);
}

const compared = dataOf(versions);
const sides = bothSides(compared, "peak", "bytes");
const sum = (values) => values.reduce((sum, value) => sum + value, 0);
const { total } = expected.compared;
assert.ok(total.delta_bytes !== 0, "something has changed");
assert.deepEqual([sum(sides.before), sum(sides.after)], [total.before_bytes, total.after_bytes], "both versions");
assert.equal(compared.head.untimed, true);

if (program) {
  const browser = new Browser(program);
  await browser.withoutFaults(async () => {
    await browser.open(page);
    const text = (selector) => browser.evaluate(`document.querySelector(${JSON.stringify(selector)})?.textContent ?? null`);
    assert.ok((await text(".overview .notes")).includes(TEXT.overview.untimed), await text(".overview"));
    assert.doesNotMatch(await text("[data-fact=peak]"), /\ds$/, "their peaks are at different times");
    assert.equal(await browser.evaluate("document.querySelector('.timeline-box').hidden"), true);
    for (const view of Object.keys(TEXT.views)) await browser.press(`#tab-${view}`);
  });
}
