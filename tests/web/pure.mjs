// The modules that know nothing of a page. Usage: node pure.mjs ASSETS

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const assets = process.argv[2];
const load = (name) => import(pathToFileURL(`${assets}/${name}.js`).href);
const { FOLDED, FUNCTION, IN_MODULE, MARKER, ROOT, UNREACHABLE, readData } = await load("data");
const { boxColour, processColour } = await load("colour");
const { outlineOf } = await load("copy");
const { Curves, PIECE } = await load("curves");
const { PROCESS } = await load("data");
const { boxes } = await load("flame");
const format = await load("format");
const { Retained } = await load("retained");
const { Loader } = await load("loader");
const { Named, searching } = await load("named");
const { isComparable, measureRows, byNode, lastMoment, boundariesOf, boundaryNear } = await load("metric");
const { mapped, shortestEnds, sourceAddress } = await load("places");
const { asMarkdown, asText } = await load("outline");
const { opened, ordered, visible } = await load("rows");
const { HELD, LOST, REACHABLE, SEVERAL, SMALLER, readScan } = await load("scan");
const { LEAST, MOST, carried } = await load("state");
const { heatOf, numberOf, sizeOf } = await load("drawing");
const { squares } = await load("squares");
const { fromFragment, toFragment } = await load("state");
const { Selection } = await load("selection");
const { TEXT } = await load("text");
const { HEIGHTS, RULER, laidOut, ticks, tracksOf } = await load("tracks");
const { escaped, flameSvg } = await load("svg");
const { Tree, functions, inverted, joined, rowsByNode, topDown, totals } = await load("tree");

/** The callers of a stack whose functions have these names, innermost first; those in angle brackets are unknown. */
function lineOf(...functions) {
  const labels = [...new Set(["everything", "process", ...functions])];
  const stack = ["everything", "process", ...functions.toReversed()].map((name) => labels.indexOf(name));
  const kindOf = (name) => (name.startsWith("<") ? IN_MODULE : FUNCTION);
  const named = Object.create(Named.prototype);
  const isNoise = (name) => name === "malloc_wrapper" || name.startsWith("std::");
  const describe = (label) => ({ name: labels[label], short: labels[label], module: "z", kind: kindOf(labels[label]), library: isNoise(labels[label]) });
  Object.assign(named, { data: { describe }, tree: { label: stack, parent: stack.map((_, at) => at - 1) }, names: new Map() });
  return named.functionsOf(stack.length - 1, 8);
}

test("of functions without a name only the first one says where it begins; its callers are their file", () => {
  assert.deepEqual(lineOf("<in z+0x10>", "<in z+0x20>", "<in z+0x30>", "main"), ["<in z+0x10>", "<in z> ×2", "main"]);
  assert.deepEqual(lineOf("f", "<in z+0x20>", "<in y+0x20>", "g"), ["f", "<in z>", "<in y>", "g"]);
  assert.deepEqual(lineOf("<in z+0x10>", "<in z+0x10>", "f", "f"), ["<in z+0x10> ×2", "f ×2"]);
});

test("a search is for parts of names in any case, with * for any characters", () => {
  for (const [text, name, expected] of [
    ["cache", "docproc::QueryCache::insert", true],
    ["query*insert", "docproc::QueryCache::insert", true],
    ["insert*query", "docproc::QueryCache::insert", false],
    [" *Cache* ", "docproc::QueryCache::insert", true],
    ["a*a", "a", false],
  ]) assert.equal(searching(text)(name), expected, `${text} ${name}`);
  assert.equal(searching(" "), null);
  assert.equal(searching("*"), null);
});

test("the nameless inside of a wrapper is passed over", () => {
  assert.deepEqual(lineOf("<in z+0x10>", "<in z+0x20>", "malloc_wrapper", "f"), ["f"]);
  assert.deepEqual(lineOf("<in z+0x10>", "std::sort", "f"), ["<in z+0x10>", "std::sort", "f"]);
  assert.deepEqual(lineOf(...["1", "2", "3", "4"].map((at) => `<in z+0x${at}>`), "malloc_wrapper", "f"), ["<in z+0x1>", "<in z> ×3", "malloc_wrapper", "f"]);
});

/** The same numbers each time (Lehmer's generator). */
function* randoms(seed) {
  for (let state = seed; ; state = (state * 48271) % 2147483647) yield state / 2147483647;
}
const random = ((numbers) => () => numbers.next().value)(randoms(7));
const below = (number) => Math.floor(random() * number);

/** Data with these nodes `[parent, label]`, rows `[node, live changes by slice]`, and slices of 1 ms. */
function made(nodes, rows, slices) {
  const columns = {
    "node.above": Int32Array.from(nodes, ([parent], node) => node - parent),
    "node.place": Int32Array.from(nodes, ([, label]) => label + 1),
    "place.label": Int32Array.from({ length: 100 }, (_, place) => place),
    "label.name": Int32Array.from({ length: 100 }, (_, label) => label),
    "row.node": Int32Array.from(rows, ([node]) => node),
    "row.changes": Int32Array.from(rows, ([, changes]) => changes.length),
    "change.slice": Int32Array.from(rows.flatMap(([, changes]) => changes.map(([slice]) => slice))),
    "change.live.bytes": Float64Array.from(rows.flatMap(([, changes]) => changes.map(([, live]) => live))),
    "change.gone.bytes": Float64Array.from(rows.flatMap(([, changes]) => changes.map(([, live]) => Math.max(-live, 0)))),
    "slice.end": Float64Array.from({ length: slices }, (_, slice) => (slice + 1) * 1e6),
    "slice.before_end": Int32Array.from({ length: slices }, (_, slice) => Number(slice === slices - 2)),
    "slice.allocated.blocks": Float64Array.from({ length: slices }, (_, slice) => Number(slice < slices - 1)),
    "slice.temporary.blocks": new Float64Array(slices),
    "slice.resident.bytes": new Float64Array(0),
    "slice.proportional.bytes": new Float64Array(0),
    "slice.swapped.bytes": new Float64Array(0),
  };
  return written(columns, { duration_ns: slices * 1e6 });
}

/** A node and all that is below it, found by looking at every node. */
function isBelow(tree, node) {
  return (other) => tree.path(other).includes(node);
}

/** Data with these columns, as a page has it. */
function written(columns, info, rising = false) {
  return readData(bytesOf(columns, { info, texts: [] }, rising));
}

function bytesOf(columns, said, rising = false) {
  const table = Object.entries(columns).map(([name, numbers]) => ({ name, count: numbers.length, size: encoded(numbers).length, rising }));
  const head = Buffer.from(JSON.stringify({ version: 1, ...said, columns: table }));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(head.length);
  return Buffer.concat([length, head, ...Object.values(columns).map(encoded)]);
}

/** Numbers as `columns.rs` writes them. */
function encoded(numbers) {
  const bytes = [];
  for (const number of numbers) {
    let rest = number < 0 ? -number * 2 - 1 : number * 2;
    for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
    bytes.push(rest);
  }
  return Buffer.from(bytes);
}

/** A tree of random form with as many nodes and few labels. */
function randomNodes(length) {
  return Array.from({ length }, (_, node) => [node === 0 ? 0 : below(node), node === 0 ? 0 : 1 + below(8)]);
}

test("columns are read as they are written", () => {
  const numbers = [0, -1, 1, 63, 64, -65, 2 ** 31, -(2 ** 40), 2 ** 52, 5];
  const none = Object.fromEntries(["node.above", "node.place", "place.label", "label.name", "row.node", "row.changes"].map((name) => [name, []]));
  const data = (rising) => written({ "slice.end": numbers, ...none }, {}, rising);
  assert.deepEqual([...data(false).columns["slice.end"]], numbers);
  let sum = 0;
  assert.deepEqual([...data(true).columns["slice.end"]], numbers.map((number) => (sum += number)));
  assert.throws(() => readData(Buffer.from('\x02\0\0\0{}')), /version/);
});

test("numbers are written as the other views write them", () => {
  const cases = [
    [format.bytes, [[0, "0 B"], [1023, "1023 B"], [1024, "1.00 KiB"], [10235, "10.0 KiB"], [102300, "99.9 KiB"], [1048575, "1.00 MiB"], [-2048, "-2.00 KiB"], [2 ** 30, "1.00 GiB"], [31.25 * 2 ** 20, "31.2 MiB"], [31.75 * 2 ** 20, "31.8 MiB"], [2.125 * 1024, "2.12 KiB"]]],
    [format.count, [[0, "0"], [-1, "-1"], [999, "999"], [-1000, "-1,000"], [1234567, "1,234,567"]]],
    [format.duration, [[0, "0 ns"], [999, "999 ns"], [999_499, "999 µs"], [999_500, "1.00 ms"], [999_500_000, "1.00 s"], [60e9, "1 min 00 s"], [3600e9, "1 h 00 min"], [125e9, "2 min 05 s"]]],
  ];
  for (const [write, pairs] of cases) for (const [value, text] of pairs) assert.equal(write(value), text);
  const shares = [[0, 0, "0 %"], [5, 0, "0 %"], [5, 5, "100 %"], [1, 8, "12.5 %"], [1, 10_000, "<0.1 %"], [9_999, 10_000, ">99.9 %"], [-1, 10, "-10.0 %"]];
  for (const [part, whole, text] of shares) assert.equal(format.percent(part, whole), text);
  assert.equal(format.counted(1, "block"), "1 block");
  assert.equal(format.counted(2, "process"), "2 processes");
  assert.deepEqual(["f10", "f9", "F2"].sort(format.natural), ["F2", "f9", "f10"]);
});

test("nodes of one name below one node are joined, and sums stay right", () => {
  for (let round = 0; round < 30; round++) {
    const nodes = randomNodes(1 + below(300));
    const data = made(nodes, [], 3);
    const tree = topDown(data);
    const own = Float64Array.from(nodes, () => below(100));
    const sums = totals(tree, joined(tree, own));
    assert.equal(sums[0], own.reduce((a, b) => a + b, 0));
    for (let node = 0; node < tree.length; node++) {
      const labels = [...tree.childrenOf(node)].map((child) => tree.label[child]);
      assert.equal(new Set(labels).size, labels.length);
      assert.ok(node === 0 || tree.parent[node] < node);
    }
    nodes.forEach(([, label], node) => assert.equal(tree.label[tree.of[node]], label));
  }
});

test("an inverted tree has what the functions that allocate have", () => {
  for (let round = 0; round < 30; round++) {
    const nodes = randomNodes(2 + below(200));
    const tree = topDown(made(nodes, [], 3));
    const own = joined(tree, Float64Array.from(nodes, (_, node) => (node ? below(50) : 0)));
    const { tree: back, value } = inverted(tree, { value: own, width: own }, 0);
    assert.equal(value[0], own.reduce((a, b) => a + b, 0));
    const { self, total } = functions(tree, own, 100);
    for (const child of back.childrenOf(0)) assert.equal(value[child], self[back.label[child]]);
    for (let node = 1; node < back.length; node++) {
      const below = [...back.childrenOf(node)].reduce((sum, child) => sum + value[child], 0);
      assert.ok(below <= value[node]);
    }
    total.forEach((sum, label) => assert.ok(sum >= self[label] && sum <= value[0]));
  }
});

test("a function that calls itself counts once in its total", () => {
  const tree = topDown(made([[0, 0], [0, 1], [1, 1], [2, 2], [3, 1]], [], 3));
  const { self, total } = functions(tree, Float64Array.of(0, 1, 10, 100, 1000), 3);
  assert.deepEqual([...self], [0, 1011, 100]);
  assert.deepEqual([...total], [1111, 1111, 1100]);
});

test("what is held at a boundary is the sum of the changes up to it", () => {
  const data = made([[0, 0], [0, 1], [0, 2]], [[1, [[0, 300], [2, -100]]], [2, [[1, 50]]]], 4);
  const state = { unit: "bytes", a: 1, b: 3 };
  const of = (metric, more) => [...byNode(data, measureRows(data, { ...state, metric, ...more }).value)];
  assert.deepEqual(of("live"), [0, 200, 50]);
  assert.deepEqual(of("growth"), [0, -100, 50]);
  assert.deepEqual([...measureRows(data, { ...state, metric: "growth" }).width], [300, 50]);
  assert.deepEqual(of("allocated", { a: 0, b: 2 }), [0, 300, 50]);
  assert.deepEqual(of("allocated", { a: 2, b: 0 }), [0, 300, 50]);
  assert.equal(lastMoment(data), 3);
  assert.deepEqual([0, 0.4e6, 0.6e6, 3.9e6, 9e9].map((time) => boundaryNear(data, time)), [0, 0, 1, 4, 4]);
  const ranges = [[1e6, 3e6], [0.5e6, 2.5e6], [1.1e6, 1.2e6], [9e9, 9.1e9]];
  assert.deepEqual(ranges.map(([from, to]) => boundariesOf(data, { from, to })), [[1, 3], [1, 2], [2, 3], [4, 4]]);
});

test("boxes lie within their callers, side by side, as wide as what they have", () => {
  for (let round = 0; round < 30; round++) {
    const nodes = randomNodes(2 + below(400));
    const tree = topDown(made(nodes, [], 3));
    const sums = totals(tree, joined(tree, Float64Array.from(nodes, () => below(100))));
    const focus = below(tree.length);
    const found = boxes(tree, sums, focus, 1000);
    const byNode = new Map(found.filter((box) => box.node >= 0).map((box) => [box.node, box]));
    for (const box of found) {
      if (box.node === 0) continue;
      const above = byNode.get(box.parent);
      if (byNode.get(focus).depth >= box.depth) {
        assert.deepEqual([box.left, box.right], [0, 1000]);
        continue;
      }
      assert.ok(box.left >= above.left - 1e-6 && box.right <= above.right + 1e-6);
      assert.equal(box.depth, above.depth + 1);
      if (box.node >= 0) assert.ok(Math.abs(box.right - box.left - (1000 * sums[box.node]) / sums[focus]) < 1e-6);
    }
    const inOrder = found.toSorted((a, b) => a.depth - b.depth || a.left - b.left);
    inOrder.slice(1).forEach((box, index) => {
      const before = inOrder[index];
      assert.ok(before.depth < box.depth || box.left >= before.right - 1e-6);
    });
  }
});

test("a million nodes have no more boxes than there are pixels for", () => {
  const nodes = Array.from({ length: 1_000_000 }, (_, node) => [node < 2 ? 0 : below(Math.min(node, 5000)), 1 + (node % 90)]);
  const tree = topDown(made(nodes, [], 3));
  const sums = totals(tree, joined(tree, new Float64Array(nodes.length).fill(1)));
  const found = boxes(tree, sums, 0, 1000);
  const deepest = found.reduce((depth, box) => Math.max(depth, box.depth), 0);
  assert.ok(found.length <= (deepest + 1) * 2 * 1000 * 2, `${found.length} boxes`);
});

test("stacks of any depth have boxes and rows", () => {
  const nodes = Array.from({ length: 60_000 }, (_, node) => [Math.max(node - 1, 0), 1 + (node % 2)]);
  const tree = topDown(made(nodes, [], 3));
  const own = new Float64Array(tree.length);
  own[tree.length - 1] = 5;
  const sums = totals(tree, own);
  assert.equal(boxes(tree, sums, 0, 100).length, 60_000);
  const open = new Set(tree.parent);
  const rows = visible(open, (node) => ordered(tree, node, sums, () => 0));
  assert.deepEqual([rows.length, rows.at(-1).depth, rows.at(-1).indent], [60_000, 59_999, 0]);
});

test("rows are opened by the largest, every tree by one level at least", () => {
  //   0 ─┬─ 1 (60) ─┬─ 3 (50) ─ 5 (50)
  //      │          └─ 4 (10)
  //      └─ 2 (7)  ─── 6 (7) ── 7 (7)
  const tree = topDown(made([[0, 0], [0, 1], [0, 2], [1, 3], [1, 4], [3, 5], [2, 6], [6, 7]], [], 3));
  const sums = totals(tree, Float64Array.of(0, 0, 0, 0, 10, 50, 0, 7));
  const names = (room) => [...opened(tree, sums, room)].sort();
  assert.deepEqual(names(1), [0, 1]);
  assert.deepEqual(names(6), [0, 1, 2]);
  assert.deepEqual(names(7), [0, 1, 2, 3]);
  assert.deepEqual(names(8), [0, 1, 2, 3, 6]);
  const rows = visible(opened(tree, sums, 8), (node) => ordered(tree, node, sums, (a, b) => a - b));
  assert.deepEqual(rows.map(({ node, indent }) => [node, indent]), [[0, 0], [1, 1], [3, 2], [5, 2], [4, 2], [2, 1], [6, 1], [7, 1]]);
});

test("rows below a node are opened and listed as those of a tree of their own", () => {
  //   0 ─┬─ 1 (60) ─┬─ 3 (50) ─ 5 (50)
  //      │          └─ 4 (10)
  //      └─ 2 (7)  ─── 6 (7) ── 7 (7)
  const tree = topDown(made([[0, 0], [0, 1], [0, 2], [1, 3], [1, 4], [3, 5], [2, 6], [6, 7]], [], 3));
  const sums = totals(tree, Float64Array.of(0, 0, 0, 0, 10, 50, 0, 7));
  const listed = (root, room) => visible(opened(tree, sums, room, root), (node) => ordered(tree, node, sums, (a, b) => a - b), root).map(({ node, indent }) => [node, indent]);
  assert.deepEqual(listed(1, 10), [[1, 0], [3, 1], [5, 1], [4, 1]]);
  assert.deepEqual(listed(2, 1), [[2, 0], [6, 0], [7, 0]]);
  assert.deepEqual(listed(5, 10), [[5, 0]]);
});

test("what is copied is what the other views write of the same rows", () => {
  // The example of `viewer/report/src/outline.rs`.
  const rows = [
    { numbers: ["12.3 MiB", ""], indent: 0, name: "[Everything]", isMade: true },
    { numbers: ["1 B", ""], indent: 2, name: "map<a|b, c*>::f\u{1b}[1m `x` <script>", isMade: false },
  ];
  const outline = { title: ["app.memprof: peak"], columns: ["bytes", "self", "function"], rows };
  assert.equal(asText(outline), "app.memprof: peak\n\n     bytes  self  function\n  12.3 MiB        [Everything]\n       1 B            map<a|b, c*>::f\\u{1b}[1m `x` <script>\n");
  assert.equal(
    asMarkdown(outline),
    "app.memprof: peak\n\n| bytes | self | function |\n|---:|---:|:---|\n| 12.3 MiB |  | *[Everything]* |\n| 1 B |  | &nbsp;&nbsp;&nbsp;&nbsp;`` map<a\\|b, c*>::f\\u{1b}[1m `x` <script> `` |\n",
  );
});

test("a copy ends with how many rows it leaves out", () => {
  const tree = new Tree(Int32Array.from({ length: 3000 }, () => 0), Int32Array.from({ length: 3000 }, () => 0), null);
  const value = new Float64Array(3000).fill(1);
  const page = {
    state: { unit: "bytes", metric: "peak" },
    data: { describe: () => ({ kind: FUNCTION }) },
    shown: () => ({ tree, value, own: value, signed: false }),
    otherTotals: () => null,
    written: (unit) => unit,
    name: () => ({ name: "f" }),
    fileName: () => "a.memprof",
    title: () => "peak",
  };
  const copied = (rows) => outlineOf(page, Array.from({ length: rows }, (_, node) => ({ node, indent: 0 }))).rows;
  assert.equal(copied(2000).length, 2000);
  assert.deepEqual([copied(2001).length, copied(2001)[2000].name, copied(3000)[2000].name], [2001, "1 more row omitted", "1,000 more rows omitted"]);
});

test("squares fill their rectangle in proportion and do not overlap", () => {
  for (let round = 0; round < 50; round++) {
    const sizes = Array.from({ length: 1 + below(40) }, () => 1 + below(1000)).sort((a, b) => b - a);
    const whole = { x: 3, y: 5, width: 50 + below(900), height: 50 + below(500) };
    const found = squares(sizes, whole);
    const total = sizes.reduce((a, b) => a + b, 0);
    assert.equal(found.length, sizes.length);
    found.forEach((square, index) => {
      const area = (whole.width * whole.height * sizes[index]) / total;
      assert.ok(Math.abs(square.width * square.height - area) < 1e-6 * area + 1e-6);
      assert.ok(square.x >= 3 - 1e-6 && square.x + square.width <= 3 + whole.width + 1e-6);
      assert.ok(square.y >= 5 - 1e-6 && square.y + square.height <= 5 + whole.height + 1e-6);
      for (const other of found.slice(0, index)) {
        const apart = other.x + other.width <= square.x + 1e-6 || square.x + square.width <= other.x + 1e-6 || other.y + other.height <= square.y + 1e-6 || square.y + square.height <= other.y + 1e-6;
        assert.ok(apart);
      }
    });
  }
  assert.deepEqual(squares([], { x: 0, y: 0, width: 9, height: 9 }), []);
  assert.deepEqual(squares([1], { x: 0, y: 0, width: 0, height: 9 }), []);
});

test("what means something else in other data is not carried there", () => {
  const all = "#view=tree&metric=growth&a=3&b=9&mark=1&function=7&focus=12&scan=2&part=roots&kept=5&from=5&to=9&query=f&theme=dark";
  assert.equal(carried(all, false), "#view=tree&metric=growth&mark=1&scan=2&part=roots&from=5&to=9&query=f&theme=dark");
  assert.equal(carried(all, true), "#view=tree&metric=growth&part=roots&query=f&theme=dark");
  assert.equal(carried("#view=function&function=7", false), "#");
});

test("what a drawing says in its own words is understood, and nothing else is", () => {
  // The colours that Graphviz makes of those in dot.rs: from grey to red, or to blue.
  const near = (fill, share, isLess) => {
    const heat = heatOf(fill);
    assert.ok(Math.abs(heat.share - share) < 0.02, `${fill}: ${heat.share}`);
    assert.equal(heat.isLess, isLess);
  };
  near("#f7edea", 0, false);
  near("#f7917c", 1, false);
  near("#7cbcf7", 1, true);
  for (const strange of ["", "white", "url(#a)", "#zzzzzz"]) near(strange, 0, false);
  assert.deepEqual(["f0", "f12", "a1", "f", "f1\n", "f-1", "f9999999999"].map(numberOf), [0, 12, -1, -1, -1, -1, -1]);
  assert.deepEqual(sizeOf("0.00 0.00 4523.50 1476.00"), { width: 4523.5, height: 1476 });
  for (const strange of [null, "", "0 0 1", "0 0 0 5", "0 0 a b", "0 0 Infinity 1"]) assert.equal(sizeOf(strange), null);
  // What is usual can be chosen.
  assert.ok(LEAST.includes("0.5") && MOST.includes("80"));
});

test("all that a reader reads stands in one catalogue, and all that stands there is used", () => {
  const modules = readdirSync(assets).filter((name) => name.endsWith(".js") && name !== "text.js").map((name) => [name, readFileSync(`${assets}/${name}`, "utf8")]);
  assert.ok(modules.length > 20);
  const elsewhere = [];
  for (const [name, text] of modules) {
    for (const line of text.split("\n")) {
      // Errors in data are for those who made it, the others are no words: names of classes, colours, tags of a file.
      if (/^\s*(\/\/|\*|\/\*\*|import )|throw new Error|use strict/.test(line)) continue;
      const rest = line.replace(/\b(class|className): ("[^"]*"|`[^`]*`)/g, "").replace(/"hsl\([^"]*"|`hsl\([^`]*`|`<[^`]*`/g, "");
      const literals = [...rest.matchAll(/"[^"]*"|`[^`]*`/g)].map(([literal]) => literal.replace(/\$\{[^}]*\}/g, "0"));
      const isSaid = literals.some((literal) => /[a-z]{2,} [a-z]{2,}/i.test(literal));
      const isShown = /(\btitle|\bhelp|\blabel|"aria-label"|placeholder): ["`][a-z]/i.test(rest) || /el\("(button|h[1-3]|th|summary|label|option)", \{[^{}]*\}, ["`][a-z]/i.test(rest);
      if (isSaid || isShown) elsewhere.push(`${name}: ${line.trim()}`);
    }
  }
  assert.deepEqual(elsewhere, []);
  const used = modules.flatMap(([, text]) => [...text.matchAll(/\bTEXT((?:\.\w+)+)/g)].map(([, path]) => path));
  const paths = (value, path) => (value.constructor === Object ? Object.entries(value).flatMap(([key, inner]) => paths(inner, `${path}.${key}`)) : [path]);
  const all = paths(TEXT, "");
  // A part of the catalogue may be taken by a key that is not known here.
  for (const path of all) assert.ok(used.some((other) => path === other || path.startsWith(`${other}.`) || other.startsWith(`${path}.`)), `TEXT${path} is used`);
  for (const path of used) assert.ok(all.some((other) => path === other || other.startsWith(`${path}.`) || path.startsWith(`${other}.`)), `TEXT${path} is there`);
});

test("tracks lie one below the other, whatever their heights are, and the ruler is one of them", () => {
  const heights = Array.from({ length: 20 }, () => 1 + below(200));
  const { placed, height } = laidOut(heights.map((height) => ({ height })));
  let end = 0;
  for (const { track, top } of placed) {
    assert.equal(top, end);
    end += track.height;
  }
  assert.equal(height, end);
  assert.deepEqual(laidOut([]), { placed: [], height: 0 });
  const numbers = ["allocated.blocks", "live.bytes", "most.bytes", "deepest", "processor.end", "resident.bytes", "proportional.bytes", "swapped.bytes"];
  const columns = Object.fromEntries(numbers.map((name) => [`slice.${name}`, Float64Array.of(1, 2)]));
  const tracks = tracksOf({ columns, slices: 2, time: (boundary) => boundary * 1000 });
  assert.equal(tracks.length, 8);
  for (const { name, kind, height } of tracks) assert.ok(name && Object.values(HEIGHTS).includes(height) && ["area", "bars", "ruler"].includes(kind), name);
  assert.deepEqual(tracks.filter(({ kind }) => kind === "ruler").map(({ name }) => name), [RULER]);
});

test("a flame graph is a file of its own, whatever its names are", () => {
  const names = ["main", "operator<< <int>(\"&\")", "a\u{0}b\u{d800}\u{1f600}", "</title><script>alert(1)</script>"];
  const found = names.map((_, depth) => ({ node: depth, depth, left: depth * 10, right: 100 }));
  const describe = ({ node }) => ({ colour: "hsl(1 2% 3%)", name: node < 2 ? names[node] : "", said: `${names[node]}: ${node} B` });
  const svg = flameSvg({ title: "a & b", font: '"A", serif', colours: { text: "#111", surface: "#fff" }, boxes: found, width: 100, rowHeight: 20, describe });
  assert.equal(svg.match(/<g><title>/g).length, names.length);
  assert.equal(svg.match(/<rect /g).length, names.length + 1);
  assert.match(svg, /<rect x="10.00" y="46" width="89.00" height="19" fill="hsl\(1 2% 3%\)"/);
  assert.match(svg, /height="108"/);
  // Nothing but our own tags, and no entity but numbers.
  assert.deepEqual([...new Set(svg.match(/<\/?[a-z]+/g))].sort(), ["</g", "</svg", "</text", "</title", "<g", "<rect", "<svg", "<text", "<title"]);
  assert.ok(!/&(?!#\d+;)/.test(svg) && !svg.includes("\u{0}"));
  assert.equal(escaped("a\u{0}b\u{1f600}"), "a\u{fffd}b\u{1f600}");
});

test("what changed since another capture has both sides, and comes together where stacks are alike", () => {
  const bytes = { "row.peak": [5, 7, 0], "before.peak": [9, 0, 4], "moved.peak": [7, -7, 0] };
  const columns = Object.fromEntries(Object.entries(bytes).map(([name, values]) => [`${name}.bytes`, Float64Array.from(values)]));
  const data = { columns, rows: 3, before: {}, info: {} };
  const { value, width, signed } = measureRows(data, { metric: "peak", unit: "bytes", a: 0, b: 0, against: true });
  assert.deepEqual([[...value], [...width], signed], [[3, 0, -4], [12, 0, 4], true]);
  assert.deepEqual([...measureRows(data, { metric: "peak", unit: "bytes", a: 0, b: 0, against: false }).value], [5, 7, 0]);
  const of = (info, before) => ["live", "peak", "cpu"].map((metric) => isComparable({ info, before }, metric));
  assert.deepEqual(of({}, null), [false, false, false]);
  assert.deepEqual(of({ cpu: { event: "cycles" } }, { cpu: { event: "cpu-clock" } }), [false, true, false]);
  const freed = (free_stacks) => ({ options: { free_stacks } });
  const both = ["true", "false"].flatMap((one) => ["true", "false"].map((other) => isComparable({ info: freed(one), before: freed(other) }, "frees")));
  assert.deepEqual(both, [true, false, false, false], "where stacks of frees are missing, nothing can be said of them");
});

test("a fragment says what is looked at, and a wrong one does no harm", () => {
  const first = { view: "overview", metric: "peak", unit: "bytes", a: 0, b: 9, focus: 0, scan: 0, part: "tree", kept: 0, least: "0.5", most: "80", inverted: false, against: true, query: "", theme: "" };
  const state = { ...first, view: "flame", metric: "growth", unit: "blocks", a: 2, b: 7, focus: 12, scan: 3, part: "unreachable", kept: 9, least: "5", most: "320", inverted: true, against: false, query: "a&b=<c>", theme: "dark" };
  assert.deepEqual(fromFragment(toFragment(state, first), first, 9), state);
  assert.equal(toFragment(first, first), "");
  for (const fragment of ["#view=nothing&metric=constructor&a=-1&b=1e9&focus=NaN&theme=<img>&unit=__proto__&scan=-1&part=constructor&kept=x&least=7&most=-1", "#%%%&&&===", "#a=99999999999999999999", "#query"]) {
    const read = fromFragment(fragment, first, 9);
    assert.deepEqual({ ...read, a: 0, query: "" }, first);
    assert.ok(read.a <= 9);
  }
});

test("source lines have addresses, and none that runs anything", () => {
  const map = [["/build/src", "/home/me/src"], ["/build", "/b"]];
  assert.equal(mapped("/build/src/a.c", map), "/home/me/src/a.c");
  assert.equal(mapped("/build/x.c", map), "/b/x.c");
  assert.equal(mapped("/buildings/x.c", map), "/buildings/x.c");
  assert.equal(sourceAddress("vscode://file/{path}:{line}", map, "/build/src/a b.c", 7), "vscode://file/home/me/src/a%20b.c:7");
  assert.equal(sourceAddress("https://x/blob{path}#L{line}", [], "/a.c", 0), "https://x/blob/a.c#L1");
  assert.equal(sourceAddress("https://x/{path}", [], "a/../b?c#d.c", 1), "https://x/a/../b%3Fc%23d.c");
  for (const template of ["javascript:{path}", " JavaScript:{path}", "data:text/html,{path}"]) assert.equal(sourceAddress(template, [], "/a", 1), null);
  assert.equal(sourceAddress(null, [], "/a", 1), null);
});

test("files of one name are told apart by as much of their paths as is needed", () => {
  const ends = shortestEnds(new Set(["/src/json/parse.c", "/src/xml/parse.c", "/src/main.c", "main.rs", "/a/main.rs", ""]));
  assert.deepEqual([...ends.values()].sort(), ["", "a/main.rs", "json/parse.c", "main.c", "main.rs", "xml/parse.c"]);
  assert.equal(ends.get("/src/xml/parse.c"), "xml/parse.c");
});

test("a selection has the rows below it, their sums, and their curve", () => {
  for (let round = 0; round < 20; round++) {
    const slices = 1 + below(8);
    const nodes = randomNodes(2 + below(200));
    const changes = () => Array.from({ length: slices }, (_, slice) => [slice, below(100) - 30]).filter(() => random() < 0.5);
    const rows = Array.from({ length: below(150) }, () => [below(nodes.length), changes()]).sort(([a], [b]) => a - b);
    const data = made(nodes, rows, slices);
    const tree = topDown(data);
    const values = Float64Array.from(rows, () => below(1000));
    const curves = new Curves(rowsByNode(tree, data), data, "bytes");
    const page = { data, tree, measured: () => ({ value: values }), fineTotals: () => new Float64Array(nodes.length), curves: () => curves };
    for (let node = 0; node < tree.length; node++) {
      const selection = new Selection(page, tree, node);
      const isIn = isBelow(tree, node);
      const expected = rows.map((_, row) => row).filter((row) => isIn(tree.of[rows[row][0]]));
      assert.deepEqual([...selection.rows].sort((a, b) => a - b), expected);
      const sum = (some) => some.reduce((total, row) => total + values[row], 0);
      assert.deepEqual(selection.sum(values), { total: sum(expected), self: sum(expected.filter((row) => tree.of[rows[row][0]] === node)) });
      assert.deepEqual([...selection.fines], nodes.map((_, fine) => fine).filter((fine) => tree.of[fine] === node));
      const held = Array.from({ length: slices + 1 }, (_, boundary) =>
        expected.flatMap((row) => rows[row][1]).reduce((total, [slice, live]) => total + (slice < boundary ? live : 0), 0),
      );
      assert.deepEqual([...selection.curve("bytes")], held);
    }
    const back = inverted(tree, { value: joined(tree, byNode(data, values)), width: joined(tree, byNode(data, values)) }, 0);
    for (let node = 1; node < back.tree.length; node++) {
      assert.equal(new Selection(page, back.tree, node).sum(values).total, back.value[node], "of an inverted tree");
    }
    assert.equal(rowsByNode(tree, data).below(0).length, rows.length);
  }
});

test("curves of nodes with more changes than a piece has are sums of their rows'", () => {
  const slices = 50;
  const nodes = randomNodes(400);
  const rows = Array.from({ length: 3000 }, () => [below(nodes.length), Array.from({ length: slices }, (_, slice) => [slice, below(100) - 30])]).sort(([a], [b]) => a - b);
  assert.ok(rows.length * slices > 5 * PIECE);
  const data = made(nodes, rows, slices);
  const tree = topDown(data);
  const curves = new Curves(rowsByNode(tree, data), data, "bytes");
  // Some pieces are there before anybody asks.
  for (let step = 0; step < 3; step++) curves.filling.next();
  for (let node = 0; node < tree.length; node += 7) {
    const isIn = isBelow(tree, node);
    const held = new Float64Array(slices + 1);
    for (const [of, changes] of rows) if (isIn(tree.of[of])) changes.forEach(([slice, live]) => (held[slice + 1] += live));
    for (let slice = 0; slice < slices; slice++) held[slice + 1] += held[slice];
    assert.deepEqual(curves.of(node), held, `node ${node}`);
  }
  assert.ok(curves.begins.length > 5);
});

test("of many wishes one is loaded at a time, and the last is shown", async () => {
  let [active, most] = [0, 0];
  const given = [];
  const later = (steps) => new Promise((done) => (steps === 0 ? done() : setImmediate(() => later(steps - 1).then(done))));
  // Some loads notice that nobody waits for them, some do not, and some fail.
  const work = async (wish, signal) => {
    most = Math.max(most, (active += 1));
    try {
      for (let step = below(6); step > 0; step--) {
        await later(1);
        if (wish % 3 === 0 && signal.aborted) throw new Error("given up");
      }
      if (wish % 7 === 0) throw new Error(`failed ${wish}`);
      return wish;
    } finally {
      active -= 1;
    }
  };
  for (const last of [100, 105]) {
    const shown = [];
    const ended = new Promise((done) => {
      const end = (what) => (found, wish) => {
        shown.push(what(found));
        if ((wish ?? last) === last) done();
      };
      const loader = new Loader(work, end((found) => found), (error) => end(() => error.message)(error, error.message.endsWith(` ${last}`) ? last : -1));
      given.push(loader);
      (async () => {
        for (let wish = 1; wish <= last; wish++) {
          loader.ask(wish);
          await later(below(3));
        }
      })();
    });
    await ended;
    const { counts } = given.at(-1);
    assert.deepEqual([most, counts.most, counts.active], [1, 1, 0]);
    assert.ok(counts.begun <= last && shown.length < last, `${counts.begun} ${shown.length}`);
    assert.equal(shown.at(-1), last === 105 ? "failed 105" : 100);
  }
});

test("what is wished for after a failure is loaded", async () => {
  const shown = [];
  const tell = (error) => {
    throw error;
  };
  const loader = new Loader((wish) => (wish === 1 ? Promise.reject(new Error("no answer")) : wish), (found) => shown.push(found), tell);
  loader.next = { wish: 1 };
  await assert.rejects(loader.work(), /no answer/);
  loader.ask(2);
  await new Promise(setImmediate);
  assert.deepEqual([shown, loader.isAtWork], [[2], false]);
});

test("moments have the digits that tell them apart", () => {
  const cases = [
    [5e9, 1e9, "5.00 s"],
    [5.0001234e9, 12_500, "5.00012 s"],
    [5.0001234e9, 10_000, "5.00012 s"],
    [5.0001234e9, 0, "5.00 s"],
    [12.5e9, 1e9, "12.5 s"],
    [12_345_678, 1000, "12.346 ms"],
    [999, 1, "999 ns"],
    [12_345, 1, "12.345 µs"],
    [3601.25e9, 60e9, "1 h 00 min"],
    [3601.25e9, 1e9, "1 h 00 min 01 s"],
    [3601.25e9, 1e7, "1 h 00 min 01.25 s"],
    [125.5e9, 1e9, "2 min 05 s"],
    [125.5e9, 1e8, "2 min 05.5 s"],
    [119.9999e9, 1e8, "1 min 59.9 s"],
  ];
  for (const [time, step, text] of cases) assert.equal(format.moment(time, step), text);
});

test("scales have whole steps, as there is no half block", () => {
  for (const [length, base, expected] of [[1, 10, []], [3, 10, [1, 2]], [2, 1024, [1]], [40, 10, [10, 20, 30]], [4096, 1024, [1024, 2048, 3072]]]) {
    assert.deepEqual(ticks(length, 4, base), expected, `${length}`);
  }
});

test("a process has one colour, in pictures and in lists", () => {
  const colours = new Set();
  for (const dark of [false, true]) {
    for (const name of ["cc1plus", "as", "ld", "python3"]) {
      assert.equal(boxColour({ kind: PROCESS, name, module: "", library: false }, dark), processColour(name, dark));
      colours.add(processColour(name, dark));
    }
  }
  assert.ok(colours.size > 4, "programs differ");
});

/** A scan of 200 bytes in 12 blocks: a variable keeps 100 of `f` and 20 below that, several roots 10, and 30 of `g` are unreachable. */
function scanned() {
  const amounts = (name, bytes, blocks = bytes.map(() => 1)) => ({ [`${name}.bytes`]: bytes, [`${name}.blocks`]: blocks });
  const columns = {
    // The process, main, f, g, and an operator that g has called.
    "node.above": [0, 1, 1, 1, 2, 1],
    "node.place": [1, 2, 3, 4, 5, 6],
    "place.label": [0, 1, 2, 3, 4, 5],
    "place.file": [-1, -1, 6, 6, 6, 6],
    "place.line": [0, 0, 1, 2, 3, 4],
    "place.inlined": [0, 0, 0, 0, 0, 0],
    "label.name": [0, 1, 2, 3, 4, 5],
    "label.short": [0, 1, 2, 3, 4, 5],
    "label.module": [-1, -1, -1, -1, -1, -1],
    "label.kind": [0, 1, 2, 2, 2, 2],
    "label.library": [0, 0, 0, 0, 0, 1],
    "stack.node": [3, 5],
    "stack.library_frames": [0, 1],
    "stack.called": [0, 1],
    "root.name": [7],
    ...amounts("retained.own", [100]),
    ...amounts("retained.all", [120], [3]),
    "retained.direct.blocks": [1],
    "retained.holders": [2],
    "retained.others": [1],
    "holder.number": [1, 0],
    ...amounts("holder", [100, 15]),
    "kept_by_root.number": [0],
    ...amounts("kept_by_root.direct", [100]),
    ...amounts("kept_by_root.all", [120], [3]),
    "class.name": [8],
    ...amounts("class.own", [90]),
    ...amounts("class.all", [110], [2]),
    ...amounts("class.lost", [5]),
    "unreachable.stack": [1],
    ...amounts("unreachable.own", [5]),
    ...amounts("unreachable.all", [25], [2]),
    "unreachable.cycles": [1],
    "unreachable.led": [1],
    "unreachable.hidden": [0],
    ...amounts("unreachable.hidden", [0], [0]),
    "led.stack": [0],
    ...amounts("led", [20]),
    "several.number": [0],
    ...amounts("several", [10]),
    "kept.level": [0, 1, 0],
    "kept.holder": [1, -1, 0],
    ...amounts("kept.own", [0, 100, 10], [0, 1, 1]),
    "kept.hidden": [0, 2, 0],
    ...amounts("kept.hidden", [0, 20, 0], [0, 2, 0]),
  };
  const none = { rows: 0, blocks: 0, bytes: 0 };
  const texts = ["[Everything]", "app", "main", "f", "g", "operator new", "/src/a.c", "cache", "Cache<int>"];
  const left_out = { tree: { rows: 3, blocks: 4, bytes: 40 }, stacks: none, roots: none, classes: none, unreachable: { rows: 1, blocks: 2, bytes: 5 } };
  const said = { scan: { number: 2, process: "app", pid: 7 }, held: { bytes: 200, blocks: 12 }, unreachable: { bytes: 30, blocks: 4 }, several_bytes: 10, several_blocks: 1, left_out, texts };
  return readScan(bytesOf(columns, said));
}

test("what a scan found is a tree whose sums are right, whatever is folded, and unreachable stacks are told apart", () => {
  const scan = scanned();
  const { tree, added, own, hidden } = scan.kept;
  const page = { data: scan, state: { unit: "bytes", query: "", kept: 0 }, shortPath: () => "a.c", changed: () => {} };
  page.data = scanned();
  const kept = new Retained(page, scan);
  const rows = (unit) => {
    const sums = totals(tree, added[unit]);
    return Array.from(tree.label, (label, node) => [tree.depth(node), kept.name(label).short, sums[node], own[unit][node], hidden[node]]);
  };
  const folded = TEXT.folded;
  assert.deepEqual(rows("bytes"), [
    [0, "[Held]", 200, 0, 0],
    [1, "[Reachable]", 170, 0, 0],
    [2, "cache", 120, 0, 0],
    [3, "f (a.c:2) ← main", 120, 100, 0],
    [4, folded, 20, 0, 2],
    [2, "several roots", 10, 10, 0],
    [2, folded, 40, 0, 3],
    [1, "[Unreachable]", 30, 0, 0],
    [2, "g (a.c:3) ← main", 25, 5, 0],
    [3, "f (a.c:2) ← main", 20, 20, 0],
    [2, folded, 5, 0, 1],
  ]);
  assert.deepEqual(rows("blocks").map(([, , sum]) => sum), [12, 8, 3, 3, 2, 1, 4, 4, 2, 1, 2]);
  // Shares are those of `retained`: of what is reachable or of what is not; these two stand beside each other.
  assert.deepEqual(Array.from(tree.label, (_, node) => kept.whole(node)), [200, 200, 170, 170, 170, 170, 170, 200, 30, 30, 30]);
  assert.deepEqual(scan.ofSeveral.map(({ label, bytes }) => [kept.name(label).name, bytes]), [["cache", 10]]);
  assert.deepEqual([HELD, REACHABLE, LOST, SEVERAL, SMALLER].map((label) => scan.what(label).kind), [0, 0, UNREACHABLE, MARKER, FOLDED]);
  const [f, g] = [scan.byStack[0].label, scan.unreachable[0].label];
  assert.deepEqual([f, g].map((label) => kept.describe(label).kind), [FUNCTION, UNREACHABLE]);
  assert.equal(kept.describe(scan.byRoot[0].label).kind, ROOT);
  assert.notEqual(boxColour(kept.describe(f), false), boxColour(kept.describe(g), false));
  assert.equal(kept.name(g).by, "operator new", "what was called tells stacks apart");
  assert.deepEqual(scan.byStack[0].holders.map(({ label, bytes }) => [kept.name(label).name, bytes]), [["cache", 100], ["several roots", 15]]);
  assert.deepEqual(scan.byClass.map(({ label, ...amounts }) => [kept.name(label).name, amounts]), [
    ["Cache<int>", { all: { bytes: 110, blocks: 2 }, own: { bytes: 90, blocks: 1 }, lost: { bytes: 5, blocks: 1 } }],
  ]);
  // The search finds roots and classes by their names, stacks by any of their functions.
  const found = (query) => ((page.state.query = query), Array.from(kept.matches ?? [], (match, label) => match && kept.name(label).short).filter(Boolean));
  assert.deepEqual(found("CACHE"), ["cache", "Cache<int>"]);
  assert.deepEqual(found("f"), ["f (a.c:2) ← main", "f (a.c:2) ← main"], "reachable and not");
  assert.deepEqual(found(""), []);
  assert.equal(kept.matches, null);
  page.state.query = "g";
  assert.equal(kept.matched(), " “g”: 12.5 %");
  // The page's own node of a stack is found by its functions and lines, none where there is no such one.
  assert.deepEqual([kept.inPage(0), kept.inPage(1)], [3, 5]);
  page.data.columns["place.line"][3] = 9;
  assert.equal(kept.inPage(0), -1);
});
