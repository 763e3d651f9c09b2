// The numbers in a page are those of the other views, node by node. Usage: node numbers.mjs ASSETS PAGE EXPECTED

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { inflateRawSync } from "node:zlib";

const [assets, page, expectedFile] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${assets}/${name}.js`).href);
const { readData } = await load("data");
const { Selection, WholeFunction } = await load("selection");
const { byNode, measureRows, metricsOf, written } = await load("metric");
const { inverted, joined, topDown, totals, functions } = await load("tree");

const packed = /type="application\/octet-stream">([^<]*)</.exec(readFileSync(page, "utf8"))[1];
const data = readData(inflateRawSync(Buffer.from(packed, "base64")));
const expected = JSON.parse(readFileSync(expectedFile, "utf8"));
const tree = topDown(data);
const name = (label) => data.describe(label).name;

assert.equal(data.head.folded.stacks, 0, "a small capture is in the page as a whole");
assert.deepEqual(data.info, expected.info);

const samples = expected.info.cpu?.samples ?? 0;
assert.equal(metricsOf(data).includes("cpu"), samples > 0, "processor time can be chosen where there are samples");
assert.equal(metricsOf(data).includes("frees"), expected.info.options.free_stacks === "true", "who frees can be chosen where that was recorded");
if (samples > 0) assert.ok(["time", "cycles"].includes(written(data, "cpu", "bytes")), "its size is time");

/** What a measure gives to every node of the tree. */
function own(metric, unit, a = 0, b = data.slices) {
  return joined(tree, byNode(data, measureRows(data, { metric, unit, a, b }).value));
}

/** Sums by the names on the way to each node. */
function byPath(length, parent, nameOf, sums) {
  const paths = [];
  const found = new Map();
  for (let node = 0; node < length; node++) {
    paths[node] = node === 0 ? nameOf(0) : `${paths[parent(node)]}\n${nameOf(node)}`;
    const [bytes, blocks] = sums(node);
    if (bytes === 0 && blocks === 0) continue;
    const known = found.get(paths[node]) ?? [0, 0];
    found.set(paths[node], [known[0] + bytes, known[1] + blocks]);
  }
  return Object.fromEntries([...found].sort());
}

const fromReport = ({ nodes }) =>
  byPath(nodes.length, (node) => nodes[node].parent, (node) => nodes[node].name, (node) => [nodes[node].total_bytes, nodes[node].total_blocks]);

for (const [metric, by] of [["peak", "peak"], ["leaked", "leaked"], ["allocated", "bytes"], ["temporary", "temporary"], ["cpu", "cpu"], ["frees", "frees"]]) {
  // Who frees is not recorded unless somebody asks.
  if (by === "frees" && !expected.trees[by]) continue;
  const both = ["bytes", "blocks"].map((unit) => own(metric, unit));
  const sums = both.map((values) => totals(tree, values));
  const ours = byPath(tree.length, (node) => tree.parent[node], (node) => name(tree.label[node]), (node) => sums.map((sum) => sum[node]));
  assert.deepEqual(ours, fromReport(expected.trees[by]), `${metric} from the root inwards`);
  const backs = both.map((value) => inverted(tree, { value, width: both[1] }, 0));
  const [{ tree: back }] = backs;
  const turned = byPath(back.length, (node) => back.parent[node], (node) => name(back.label[node]), (node) => backs.map(({ value }) => value[node]));
  assert.deepEqual(turned, fromReport(expected.inverted[by]), `${metric} from the allocations outwards`);
  // A range of the whole recording is made of changes, not of totals: it has the same sums.
  if (["allocated", "temporary", "frees"].includes(metric)) {
    const middle = Math.floor(data.slices / 2);
    ["bytes", "blocks"].forEach((unit, index) => {
      const [first, second] = [own(metric, unit, 0, middle), own(metric, unit, middle, data.slices)];
      assert.deepEqual(first.map((value, node) => value + second[node]), both[index], `${metric}, in two parts`);
    });
  }
}

// Regions of marks, by name as the page has them.
data.head.regions.forEach(({ name: text }, mark) => {
  const report = expected.during[data.text(text)];
  if (!report) return;
  const sums = ["bytes", "blocks"].map((unit) => totals(tree, joined(tree, byNode(data, measureRows(data, { metric: "during", unit, a: 0, b: 0, mark }).value))));
  const ours = byPath(tree.length, (node) => tree.parent[node], (node) => name(tree.label[node]), (node) => sums.map((sum) => sum[node]));
  assert.deepEqual(ours, fromReport(report), `allocated during ${data.text(text)}`);
});
// A region in which nothing was allocated cannot be chosen.
const working = Object.values(expected.during).filter(({ nodes }) => nodes.some(({ total_blocks: blocks }) => blocks > 0));
assert.equal(data.regions.length, working.length);

// Sizes and lifetimes of a function's blocks.
if (expected.function) {
  const wanted = [...Array(data.foldedLabel).keys()].filter((label) => name(label) === expected.function.name && data.describe(label).kind === 2);
  assert.equal(wanted.length, 1, expected.function.name);
  const rows = { rowsBy: (metric, unit) => measureRows(data, { metric, unit, a: 0, b: data.slices }) };
  const selection = new WholeFunction({ data, tree, ...rows }, wanted[0]);
  const [sized, aged] = ["sized", "aged"].map((kind) => selection.classes(kind).map(({ bytes, blocks }) => [blocks, bytes]));
  assert.deepEqual(sized, expected.function.sizes.map(({ blocks, bytes }) => [blocks, bytes]), "sizes of a function");
  const ages = new Map();
  for (const { below_ns: end, ended, blocks, bytes } of expected.function.lifetimes) {
    const key = ended ? (end ?? 1e18) : 2e18;
    const [sumBlocks, sumBytes] = ages.get(key) ?? [0, 0];
    ages.set(key, [sumBlocks + blocks, sumBytes + bytes]);
  }
  assert.deepEqual(aged, [...ages].sort(([a], [b]) => a - b).map(([, sums]) => sums), "lifetimes of a function");
  const allocated = rows.rowsBy("allocated", "bytes").value;
  const row = expected.functions.functions.find((row) => row.kind === "function" && row.name === expected.function.name);
  assert.deepEqual(selection.sum(allocated), { total: row.total_bytes, self: row.self_bytes });
  assert.equal(selection.lines(allocated).reduce((sum, line) => sum + line.value, 0), row.total_bytes, "lines add up");
}

// Who frees whose blocks, by the innermost functions of both stacks.
assert.equal(data.tracesFrees, Boolean(expected.frees));
if (expected.frees) {
  const inner = (row) => {
    const label = data.label[data.columns["row.node"][row]];
    return data.describe(label).kind === 2 ? name(label) : "?";
  };
  const pairs = (sums) => Object.fromEntries([...sums].sort());
  const add = (sums, key, numbers) => sums.set(key, (sums.get(key) ?? [0, 0, 0]).map((sum, index) => sum + numbers[index]));
  const [ours, back, theirs] = [new Map(), new Map(), new Map()];
  const page = { data, tree };
  const one = (row) => Object.assign(new Selection(page, tree, 0, data.columns["row.node"][row]), { found: Int32Array.of(row) });
  const numbersOf = ({ blocks, bytes, others }) => [blocks, bytes, others.blocks];
  for (let row = 0; row < data.rows; row++) {
    for (const end of one(row).ends("bytes")) add(ours, `${inner(row)} > ${end.by < 0 ? "nobody" : inner(end.by)}`, numbersOf(end));
    for (const end of one(row).owners("bytes")) add(back, `${inner(end.by)} > ${inner(row)}`, numbersOf(end));
  }
  for (const { stack, with: ends } of expected.frees.rows) {
    for (const end of ends) add(theirs, `${stack[0]?.function ?? "?"} > ${end.stack ? (end.stack[0]?.function ?? "?") : "nobody"}`, [end.blocks, end.bytes, end.by_others.blocks]);
  }
  assert.deepEqual(pairs(ours), pairs(theirs), "who frees whose blocks");
  assert.deepEqual(pairs(back), pairs([...theirs].filter(([key]) => !key.endsWith("nobody"))), "whose blocks are freed by whom");
}

const { self, total } = functions(tree, own("allocated", "bytes"), data.foldedLabel + 1);
for (const row of expected.functions.functions.filter(({ kind }) => kind === "function")) {
  const label = [...total.keys()].filter((at) => at < data.foldedLabel && data.describe(at).kind === 2 && name(at) === row.name);
  const sum = (values) => label.reduce((all, at) => all + values[at], 0);
  assert.deepEqual([sum(total), sum(self)], [row.total_bytes, row.self_bytes], row.name);
}

for (let boundary = 0; boundary <= data.slices; boundary++) {
  const held = own("live", "bytes", 0, boundary).reduce((sum, value) => sum + value, 0);
  assert.equal(held, data.live(boundary, "bytes"), `held at boundary ${boundary}`);
}
const most = data.columns["slice.most.bytes"].reduce((a, b) => Math.max(a, b), 0);
assert.equal(most, expected.info.totals.peak_bytes);

// Every view that is registered has its table in the page, as pages have theirs, with the rows that the command line writes.
const { asMarkdown } = await load("outline");
const { pages, views } = data.head;
assert.deepEqual(views.map(({ by }) => by).toSorted(), Object.keys(expected.views).toSorted());
for (const { by, tables } of [...views, { by: "pages", tables: pages }]) {
  const outline = (table) => asMarkdown({ ...table, rows: table.rows.map((row) => ({ ...row, isMade: row.is_generated })) });
  const ours = tables && tables.map(outline).join("\n").split("\n");
  // The command says when the peak was, the page that it is at the peak.
  const ofPages = expected.pages?.replace(/ at [^:]*:/, ":").replace("\n", "\nat the peak of the whole capture\n");
  const theirs = { ...expected.views, pages: ofPages }[by]?.split("\n") ?? null;
  // Only the command line has an option for more rows, and whole names.
  const isSame = (one, other) => one === other || other.includes("--") || one.includes("…");
  assert.ok(ours === theirs || (ours.length === theirs.length && ours.every((line, at) => isSame(line, theirs[at]))), `${by}:\n${ours?.join("\n")}\n\n${theirs?.join("\n")}`);
}
