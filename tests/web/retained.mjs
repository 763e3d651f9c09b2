// What scans found has the numbers of `retained`, stack by stack and row by row. Usage: node retained.mjs ASSETS PAGE EXPECTED

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { inflateRawSync } from "node:zlib";

const [assets, page, expectedFile] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${assets}/${name}.js`).href);
const { readData } = await load("data");
const { bytes, count, percent } = await load("format");
const { Retained } = await load("retained");
const { Named } = await load("named");
const { readScan, HELD, LOST, REACHABLE, SEVERAL, SMALLER } = await load("scan");
const { totals } = await load("tree");

const text = readFileSync(page, "utf8");
const element = (id) => inflateRawSync(Buffer.from(new RegExp(`id="${id}" type="application/octet-stream">([^<]*)<`).exec(text)[1], "base64"));
const data = readData(element("data"));
const expected = JSON.parse(readFileSync(expectedFile, "utf8"));
assert.equal(data.info.scans.length, expected.length);
assert.equal(text.match(/id="scan-\d+"/g)?.length ?? 0, expected.length, "each of a few scans is in the page");

/** What a look at a scan wants of the page. */
const stub = Object.assign(new Named(data), { state: { unit: "bytes", query: "", kept: 0 }, left: new AbortController(), changed() {}, fileName: () => "it.memprof" });

for (const { json, tree } of expected) {
  const { number } = json.scan;
  const scan = readScan(element(`scan-${number}`));
  const kept = new Retained(stub, scan);
  const { head } = scan;
  for (const field of ["scan", "held", "reachable", "unreachable", "overlapping", "links", "pointers"]) assert.deepEqual(head[field], json[field], field);
  for (const part of ["tree", "stacks", "roots", "classes", "unreachable"]) assert.equal(head.left_out[part].rows, 0, `all of ${part} is there`);

  // Stacks, function by function.
  const framesOf = (stack) => {
    const frames = [];
    for (let node = scan.nodeOf(stack); scan.parent[node] !== node && scan.parent[node] !== 0; node = scan.parent[node]) {
      const { kind } = scan.describe(scan.label[node]);
      const { file, line, inlined } = scan.place(node);
      // Markers of its end are no functions in the document.
      if (kind !== 5) frames.push([file || null, line || null, inlined]);
    }
    return frames;
  };
  const framesIn = (stack) => stack.map(({ file, line, inlined }) => [file, line, inlined]);
  const stackOf = (label) => framesOf(scan.what(label).stack);
  assert.equal(scan.byStack.length, json.stacks.length);
  scan.byStack.forEach((row, place) => {
    const { stack, own, retained, direct_blocks: direct, kept_by: keptBy, other_holders: others } = json.stacks[place];
    assert.deepEqual(stackOf(row.label), framesIn(stack));
    assert.deepEqual([row.all, row.own, row.direct, row.others], [retained, own, direct, others].map(plain));
    row.holders.forEach(({ label, bytes: size, blocks }, which) => {
      const holder = keptBy[which];
      assert.deepEqual({ bytes: size, blocks }, { bytes: holder.bytes, blocks: holder.blocks });
      if (holder.kind === "root") assert.equal(kept.name(label).name, holder.root);
      else if (holder.kind === "stack") assert.deepEqual(stackOf(label), framesIn(holder.stack));
      else assert.equal(label, SEVERAL);
    });
    assert.equal(row.holders.length, keptBy.length);
    // The page's own stack of the same functions is found.
    assert.ok(kept.inPage(scan.what(row.label).stack) > 0, kept.name(row.label).name);
  });
  const roots = scan.byRoot.filter(({ label }) => label !== SEVERAL);
  assert.deepEqual(roots.map(({ label, all, own }) => [kept.name(label).name, all, own]), json.roots.map(({ name, retained, direct }) => [name, retained, direct].map(plain)));
  const several = scan.byRoot.find(({ label }) => label === SEVERAL)?.all ?? { bytes: 0, blocks: 0 };
  assert.deepEqual(several, plain(json.several_roots));
  assert.deepEqual(scan.ofSeveral.map(({ label, bytes: size, blocks }) => [kept.name(label).name, size, blocks]), json.several_roots_from.map(({ name, bytes: size, blocks }) => [name, size, blocks]));
  assert.deepEqual([head.several_more, head.several_not_followed], [0, json.several_roots_not_followed]);
  const ofClass = ({ name, retained, own, unreachable }) => [name, ...[retained, own, unreachable].map(plain)];
  assert.deepEqual(scan.byClass.map(({ label, all, own, lost }) => [kept.name(label).name, all, own, lost]), json.classes.map(ofClass));
  assert.equal(scan.unreachable.length, json.unreachable_stacks.length);
  scan.unreachable.forEach((row, place) => {
    const { stack, own, claimed, cycles, leads_to: led } = json.unreachable_stacks[place];
    assert.deepEqual(stackOf(row.label), framesIn(stack));
    assert.deepEqual([row.all, row.own, row.cycles], [claimed, own, cycles].map(plain));
    assert.deepEqual(row.leadsTo.map(({ label, all }) => [stackOf(label), all]), led.map((row) => [framesIn(row.stack), plain(row)]));
    assert.equal(row.hidden.rows, 0);
  });

  // The tree: sums on top, each root, and below them row by row what the command line shows.
  const sums = { bytes: totals(kept.tree, scan.kept.added.bytes), blocks: totals(kept.tree, scan.kept.added.blocks) };
  const sum = (node) => ({ bytes: sums.bytes[node], blocks: sums.blocks[node] });
  assert.deepEqual(sum(HELD), plain(json.held));
  assert.deepEqual(sum(REACHABLE), plain(json.reachable));
  const lost = kept.tree.label.indexOf(LOST);
  assert.deepEqual(lost < 0 ? { bytes: 0, blocks: 0 } : sum(lost), plain(json.unreachable));
  const top = Array.from(kept.tree.childrenOf(REACHABLE));
  for (const { name, retained } of json.roots.filter(({ retained }) => retained.blocks > 0)) {
    assert.ok(top.some((node) => kept.name(kept.tree.label[node]).name === name && sums.bytes[node] === retained.bytes && sums.blocks[node] === retained.blocks), name);
  }
  assert.equal(kept.tree.label.includes(SMALLER), false, "nothing is folded");
  assert.deepEqual(treeOf(kept, scan, sums).map(readable).sort(), treeIn(tree).map(readable).sort(), `the tree of scan ${number}`);
}

/** A row without what terminals would act on, and is written otherwise there. */
function readable([all, share, own, blocks, name]) {
  return [all, share, own, blocks, name.replace(/\\u\{[0-9a-f]+\}|\W/g, "")];
}

function plain(value) {
  return value && typeof value === "object" ? { bytes: value.bytes, blocks: value.blocks } : value;
}

/** Rows as `retained --tree` writes them of all that retains a percent: retained, its share, own, blocks, name. */
function treeOf(kept, scan, { bytes: retained }) {
  const { tree, scan: { kept: { own } } } = kept;
  const least = Math.trunc(scan.head.reachable.bytes / 100);
  const rows = [];
  const ahead = [[REACHABLE, 0]];
  while (ahead.length) {
    const [node, level] = ahead.pop();
    const { stack, root } = scan.what(tree.label[node]);
    const name = stack === undefined ? kept.name(tree.label[node]).name : kept.line(scan.meaningful(stack).node, 1);
    // Its first row is all that there is in it; here that stands beside what nobody can reach.
    const share = percent(retained[node], node === REACHABLE ? retained[node] : kept.whole(node));
    rows.push([bytes(retained[node]), share, bytes(own.bytes[node]), count(own.blocks[node]), root === undefined ? name : name.trim()]);
    if (level < 64) for (const child of tree.childrenOf(node)) if (retained[child] >= least) ahead.push([child, level + 1]);
  }
  return rows;
}

/** The same of its text, without what is hidden. */
function treeIn(said) {
  const lines = said.slice(said.indexOf("kept\n") + 5).split("\n");
  const rows = lines.flatMap((line) => {
    const found = /^\s*(\S+ \S+)\s+(\S+ %)\s+(\S+ \S+)\s+(\S+)  (.*)$/.exec(line);
    if (!found) return [];
    const [, all, share, own, blocks, name] = found;
    // Which roots these are stands beside the row.
    const plainName = name.replace(/^[ │├└─]+/, "").replace(/^(several roots): .*/, "$1");
    return / more not shown$/.test(plainName) ? [] : [[all, share, own, blocks, plainName.split(" < ")[0]]];
  });
  return rows;
}
