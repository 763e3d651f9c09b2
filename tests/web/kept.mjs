// Looks at what scans found as a reader would. Usage: node kept.mjs ASSETS BROWSER PAGE EXPECTED PICTURES
// The page may be the address of a server.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Browser } from "./browser.mjs";

const [assets, program, page, expectedFile, pictures] = process.argv.slice(2);
const { bytes, count, counted } = await import(pathToFileURL(`${assets}/format.js`).href);
const expected = JSON.parse(readFileSync(expectedFile, "utf8")).map(({ json, tables }) => ({ ...json, tables }));
/** The one that has most to be seen. */
const most = expected.reduce((best, json) => (json.held.blocks > best.held.blocks ? json : best));

const browser = new Browser(program);
const text = (selector) => browser.evaluate(`document.querySelector(${JSON.stringify(selector)})?.textContent ?? null`);
const fragment = () => browser.fragment();
const rows = (table) => browser.evaluate(`Number(document.querySelector(".table.${table}").getAttribute("aria-rowcount")) - 1`);
const cells = (table, row) => browser.evaluate(`[...document.querySelectorAll(".table.${table} .rows .row")[${row}].children].map((cell) => cell.textContent)`);
const names = () => browser.evaluate("[...document.querySelectorAll('.table.kept .rows .row')].map((row) => row.children[5].textContent)");
/** Names of functions that the page writes in full. */
const plain = (stack) => stack.map(({ function: name }) => name ?? "").filter((name) => /^\w+$/.test(name));
const press = (name) => browser.evaluate(`[...document.querySelectorAll(".retained-view button")].find((button) => button.textContent === ${JSON.stringify(name)}).click()`).then(() => browser.settled());
const part = (name) => browser.press(`.retained-view [data-part=${name}]`);
const sized = ({ bytes: size, blocks }) => `${bytes(size)} in ${counted(blocks, "block")}`;

async function lookAtEach() {
  assert.equal(await browser.evaluate("document.querySelectorAll('#scan option').length"), expected.length);
  assert.equal(await browser.evaluate("document.querySelector('#scan').hidden"), expected.length < 2, "one scan needs no choice");
  for (const json of expected) {
    await choose(json);
    assert.match(await fragment(), new RegExp(`scan=${json.scan.number}`));
    await lookAtIt(json);
  }
  await choose(most);
}

async function choose({ scan: { number } }) {
  await browser.evaluate(`(() => { const scan = document.querySelector("#scan"); scan.value = ${number}; scan.dispatchEvent(new Event("change")); })()`);
  await browser.until(`document.querySelector('.retained-said') !== null && document.querySelector('.retained-head').textContent.includes("Scan ${number} of ")`);
}

async function lookAtIt(json) {
  const head = await text(".retained-head");
  assert.ok(head.includes(sized(json.held)), head);
  if (json.held.blocks === 0) return;
  const isLost = json.unreachable.blocks > 0;
  assert.ok(head.includes(isLost ? sized(json.unreachable) : "all reachable"), head);
  assert.equal(head.includes("Not all blocks are known"), json.scan.is_partial);
  assert.ok(head.includes("cursors, range, measures and marks have no effect here"), head);
  await lookAtTheTree(json, isLost);
  await lookAtTheTables(json, isLost);
  await lookAtTheFlameGraph();
  await browser.screenshot(join(pictures, `retained-${json.scan.number}.png`));
}

async function lookAtTheTree(json, isLost) {
  await part("tree");
  await press("Expand all");
  const [held, reachable] = [await cells("kept", 0), await cells("kept", 1)];
  assert.deepEqual([held[0], held[1]], [bytes(json.held.bytes), "100 %"]);
  assert.ok(held[5].endsWith("[Held]") && reachable[5].endsWith("[Reachable]"), `${held} ${reachable}`);
  assert.equal(reachable[0], bytes(json.reachable.bytes));
  const all = await rows("kept");
  await press("Collapse all");
  assert.equal(await rows("kept"), 1);
  // The keys open and close as in the other trees.
  await browser.evaluate("document.querySelector('.table.kept').focus()");
  await browser.key("ArrowRight");
  assert.equal(await rows("kept"), isLost ? 3 : 2);
  assert.equal((await names()).some((name) => name.includes("[Unreachable]")), isLost, await names());
  for (const key of ["ArrowDown", "ArrowRight"]) await browser.key(key);
  const [largest] = json.roots.filter(({ retained }) => retained.blocks > 0);
  if (largest) assert.ok((await names()).some((name) => name.includes(largest.name)), await names());
  for (const key of ["ArrowLeft", "ArrowLeft", "ArrowLeft"]) await browser.key(key);
  assert.equal(await rows("kept"), 1);
  await press("Expand all");
  assert.equal(await rows("kept"), all);
  // In blocks the numbers are those of blocks.
  await browser.key("u");
  assert.equal((await cells("kept", 0))[0], count(json.held.blocks));
  await browser.key("u");
  // What other views are asked for changes nothing.
  const shown = () => text(".table.kept");
  const before = await shown();
  for (const key of ["m", "[", "]", "p", "<", "0"]) await browser.key(key);
  assert.equal(await shown(), before);
}

/** The share in the first row of each table of `retained`. */
function sharesIn(tables) {
  const parts = tables.split(/^(?:By root|Unreachable)$/m);
  return parts.map((part) => /^\s+\S+ \S+\s+(\S+ %) /m.exec(part)?.[1]);
}

/** The cells of a table's first row stand beside each other: it has a column for each. */
async function isInLine(table) {
  const tops = await browser.evaluate(`[...document.querySelector('.table.${table} .rows .row').children].filter((cell) => cell.offsetParent).map((cell) => cell.offsetTop)`);
  assert.equal(new Set(tops).size, 1, `${table}: ${tops}`);
}

async function lookAtTheTables(json, isLost) {
  const [ofStacks, ofRoots, ofLost] = sharesIn(json.tables);
  await part("stacks");
  assert.equal(await rows("kept-stacks"), json.stacks.length);
  await isInLine("kept-stacks");
  const [first] = json.stacks;
  const shown = await cells("kept-stacks", 0);
  assert.deepEqual([shown[0], shown[1], shown[3], shown[4]], [bytes(first.retained.bytes), ofStacks, bytes(first.own.bytes), count(first.own.blocks)]);
  await part("roots");
  const several = json.several_roots.blocks > 0 ? 1 : 0;
  assert.equal(await rows("kept-roots"), json.roots.length + several);
  await isInLine("kept-roots");
  assert.equal((await cells("kept-roots", 0))[1], ofRoots);
  if (several) await lookAtSeveral(json);
  await part("classes");
  if (json.classes.length > 0) {
    assert.equal(await rows("kept-classes"), json.classes.length);
    await isInLine("kept-classes");
    assert.equal((await cells("kept-classes", 0)).at(-1), json.classes[0].name);
    await browser.screenshot(join(pictures, "classes.png"));
  } else {
    assert.ok((await text(".retained-holder")).includes("virtual functions"));
  }

  await part("unreachable");
  if (isLost) {
    assert.equal(await rows("kept-unreachable"), json.unreachable_stacks.length);
    await isInLine("kept-unreachable");
    const { claimed, cycles } = json.unreachable_stacks[0];
    const lost = await cells("kept-unreachable", 0);
    assert.deepEqual([lost[0], lost[1], lost[5]], [bytes(claimed.bytes), ofLost, cycles ? count(cycles) : ""]);
    await unfold(json.unreachable_stacks);
  } else assert.ok((await text(".retained-holder")).includes("All blocks are reachable"));
}

/** Beside what no single root keeps stands which ones do together. */
async function lookAtSeveral({ several_roots_from: from }) {
  await browser.evaluate("[...document.querySelectorAll('.table.kept-roots .rows .row')].find((row) => row.children[5].textContent === 'several roots').click()");
  await browser.settled();
  const details = await text(".retained-view .details");
  for (const { name, bytes: size } of from) assert.ok(details.includes(`${bytes(size)}${name}`), `${name} in ${details}`);
  await browser.key("Escape");
}

/** A row unfolds into what it leads to, by the keys and the mouse, and is folded again. */
async function unfold(stacks) {
  const place = stacks.findIndex(({ leads_to: led }) => led.length > 0);
  if (place < 0) return;
  const { leads_to: led } = stacks[place];
  const row = `document.querySelectorAll(".table.kept-unreachable .rows .row")[${place}]`;
  const isUnfolded = async (expected) => {
    assert.equal(await rows("kept-unreachable"), stacks.length + (expected ? led.length : 0));
    assert.equal(await browser.evaluate(`${row}.getAttribute("aria-expanded")`), String(expected));
  };
  await isUnfolded(false);
  await browser.evaluate(`${row}.click()`);
  await browser.settled();
  await isUnfolded(true);
  const first = await cells("kept-unreachable", place + 1);
  assert.deepEqual([first[0], first[4]], [bytes(led[0].bytes), count(led[0].blocks)]);
  await browser.screenshot(join(pictures, "unreachable.png"));
  await browser.evaluate("document.querySelector('.table.kept-unreachable').focus()");
  for (const key of ["ArrowRight", "ArrowLeft", "ArrowLeft"]) await browser.key(key);
  await isUnfolded(false);
  await browser.key("Escape");
}

async function lookAtTheFlameGraph() {
  await part("flame");
  const colours = await browser.evaluate(`(() => {
    const canvas = document.querySelector(".retained-view canvas.flame");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  })()`);
  assert.ok(colours > 3, "it is drawn");
  const { x, y } = await browser.evaluate("(({ x, y }) => ({ x, y }))(document.querySelector('.retained-view canvas.flame').getBoundingClientRect())");
  await browser.click(x + 5, y + 50);
  assert.match(await fragment(), /kept=\d+/);
  assert.equal(await browser.evaluate("document.querySelector('.retained-view .details').hidden"), false);
  await browser.key("Escape");
  await browser.key("Escape");
  assert.doesNotMatch(await fragment(), /kept=/);
}

/** Scans of processes at their ends stand at the end of the timeline, or before it. */
async function lookAtTheTimeline() {
  const { x, y, width, height } = await browser.evaluate("(({ x, y, width, height }) => ({ x, y, width, height }))(document.querySelector('canvas.timeline').getBoundingClientRect())");
  const tips = new Set();
  for (let right = width - 12; right > 76; right -= 4) {
    await browser.send("Input.dispatchMouseEvent", { type: "mouseMoved", x: x + right, y: y + height / 2 });
    tips.add(await text(".timeline-box .tip"));
  }
  for (const { scan } of expected) assert.ok([...tips].some((tip) => tip.includes(`scan ${scan.number} of ${scan.process}`)), `scan ${scan.number}: ${[...tips]}`);
}

/** From a stack to what keeps it, to its place in the tree, and to the other views. */
async function goOn() {
  const json = most;
  await part("stacks");
  await browser.evaluate("document.querySelector('.table.kept-stacks .rows .row').click()");
  await browser.settled();
  const details = await text(".retained-view .details");
  const [{ retained, own, kept_by: holders, stack }] = json.stacks;
  for (const part of [bytes(retained.bytes), bytes(own.bytes), ...holders.map((holder) => bytes(holder.bytes)), ...plain(stack)]) assert.ok(details.includes(part), `${part} in ${details}`);
  await browser.press("#kept-in-tree");
  assert.equal(await browser.evaluate("document.querySelector('[data-part=tree]').getAttribute('aria-pressed')"), "true");
  const active = await text(".table.kept .rows .row.active");
  for (const name of plain(stack.slice(-1))) assert.ok(active.includes(name), active);
  await browser.press(".retained-view .holders button");
  const { kind, root } = holders[0];
  if (kind === "root") assert.ok((await text(".retained-view .details h2")).includes(root));
  await part("stacks");
  await browser.evaluate("document.querySelector('.table.kept-stacks .rows .row').click()");
  await browser.settled();
  await browser.press("#kept-in-call-tree");
  assert.match(await fragment(), /view=tree/);
  assert.match(await fragment(), /metric=live/);
  const row = await text(".table.tree .rows .row.active");
  for (const name of plain(stack.slice(0, 1))) assert.ok(row.includes(name), row);
  const live = await text("body > .columns > .details tr.chosen");
  // Where some of its blocks are unreachable, more of it is live than has an owner.
  const isLost = json.unreachable_stacks.some((row) => JSON.stringify(row.stack) === JSON.stringify(stack));
  assert.ok(isLost || live.includes(bytes(own.bytes)), `what is live then is what the scan has: ${live}`);
  await browser.press("#tab-retained");
}

/** The search marks stacks by any function on them, and roots by their names; the tables have what matches alone. */
async function search() {
  const json = most;
  await part("roots");
  const { name } = json.roots[0];
  await browser.evaluate(`(() => { const search = document.querySelector("#search"); search.value = ${JSON.stringify(name)}; search.dispatchEvent(new Event("input")); })()`);
  await browser.settled();
  assert.equal(await rows("kept-roots"), json.roots.filter((root) => root.name.toLowerCase().includes(name.toLowerCase())).length);
  await part("tree");
  assert.ok((await browser.evaluate("document.querySelectorAll('.table.kept .match').length")) > 0);
  await browser.evaluate(`(() => { const search = document.querySelector("#search"); search.value = ""; search.dispatchEvent(new Event("input")); })()`);
  await browser.settled();
}

async function copy() {
  await browser.send("Browser.grantPermissions", { permissions: ["clipboardReadWrite", "clipboardSanitizedWrite"] });
  await part("tree");
  await press("Expand all");
  await browser.key("y");
  await browser.until("document.querySelector('.said').textContent !== ''");
  const lines = (await browser.evaluate("navigator.clipboard.readText()")).trimEnd().split("\n");
  assert.match(lines[2], /^ *bytes +share +blocks +own {2}kept$/);
  assert.equal(lines.length - 3, await rows("kept"));
}

await browser.withoutFaults(async () => {
  await browser.open(page, "#view=retained");
  await browser.until("document.querySelector('.retained-said') !== null");
  const last = await text(".retained-head");
  assert.ok(last.includes(`Scan ${expected.length} of ${expected.length}`), `the last one comes first: ${last}`);
  await lookAtEach();
  await lookAtTheTimeline();
  await goOn();
  await search();
  await copy();
  // The address says what is looked at.
  const address = "#view=retained&scan=1&part=stacks&unit=blocks";
  const picture = () => browser.evaluate("[document.querySelector('.retained-head').textContent, document.querySelector('.table.kept-stacks').textContent].join()");
  await browser.evaluate(`location.hash = ${JSON.stringify(address)}`);
  await browser.until("document.querySelector('.table.kept-stacks') !== null && document.querySelector('.retained-said') !== null");
  const found = await picture();
  await browser.open(page, address);
  await browser.until("document.querySelector('.table.kept-stacks') !== null");
  assert.equal(await picture(), found);
});
