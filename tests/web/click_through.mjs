// Looks at every view of a page as a reader would. Usage: node click_through.mjs ASSETS BROWSER PAGE EXPECTED PICTURES

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Browser } from "./browser.mjs";

const [assets, program, page, expectedFile, pictures] = process.argv.slice(2);
const { bytes, count, counted, duration } = await import(pathToFileURL(`${assets}/format.js`).href);
const expected = JSON.parse(readFileSync(expectedFile, "utf8"));
const { totals } = expected.info;
const { TEXT } = await import(pathToFileURL(`${assets}/text.js`).href);
const VIEWS = Object.keys(TEXT.views);
const isEmpty = totals.allocations === 0;
const METRICS = ["live", "growth", "peak", "leaked", "allocated", "temporary"];

/** Source lines that were compared with their files. */
let withSource = 0;
const browser = new Browser(program);
const text = (selector) => browser.evaluate(`document.querySelector(${JSON.stringify(selector)})?.textContent ?? null`);
const fragment = () => browser.fragment();
const box = (selector) => browser.evaluate(`(({ x, y, width, height }) => ({ x, y, width, height }))(document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect())`);
const isDrawn = (selector) =>
  browser.evaluate(`(() => {
    const canvas = document.querySelector(${JSON.stringify(selector)});
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  })()`);

async function lookAtOverview() {
  // The title says which capture, and when it was recorded.
  const { file, started_unix_ns: started } = expected.info;
  const date = started > 0 ? `, ${new Date(started / 1e6).toISOString().replace("T", " ").slice(0, 16)}` : "";
  assert.equal(await browser.evaluate("document.title"), file.slice(file.lastIndexOf("/") + 1) + date);
  const facts = await browser.evaluate("Object.fromEntries([...document.querySelectorAll('.fact')].map((fact) => [fact.dataset.fact, fact.textContent]))");
  for (const part of [bytes(totals.peak_bytes), counted(totals.peak_blocks, "block")]) assert.ok(facts.peak.includes(part), facts.peak);
  // What was never freed is divided as `leaks` divides it.
  const { leaked, held, suppressed } = totals.left;
  assert.equal(leaked.bytes + held.bytes + suppressed.bytes, totals.leaked_bytes);
  for (const part of [bytes(leaked.bytes), counted(leaked.blocks, "block")]) assert.ok(facts.leaked.includes(part), facts.leaked);
  assert.equal(facts.leaked.includes(`${bytes(suppressed.bytes)} suppressed`), suppressed.bytes > 0, facts.leaked);
  assert.equal("held" in facts, held.blocks > 0);
  if (totals.most_resident_bytes !== null) assert.ok(facts.resident.includes(bytes(totals.most_resident_bytes)), facts.resident);
  for (const part of [bytes(totals.allocated_bytes), counted(totals.allocations, "allocation")]) assert.ok(facts.allocated.includes(part), facts.allocated);
  // What processes leave behind that follow each other is more than was held at once: it says of how many it is.
  const leaking = expected.info.processes.filter(({ recorded, leaked_bytes: leaked }) => recorded && leaked > 0).length;
  assert.equal(facts.leaked.includes(` in ${counted(leaking, "process")}`), leaking > 1, facts.leaked);
  const begun = expected.info.processes.filter(({ recorded, image }) => recorded && image === 0).length;
  assert.ok(facts.threads.endsWith(`in ${counted(begun, "process")}`), facts.threads);
  assert.ok(facts.lost.includes(counted(expected.info.lost.events, "event")), facts.lost);
  for (const remark of expected.info.remarks) assert.ok((await text("main")).includes(remark), remark);
}

async function lookAtEveryView() {
  for (const [index, view] of VIEWS.entries()) {
    if (index < 9) await browser.key(String(index + 1));
    else await browser.press(`#tab-${view}`);
    assert.equal(await browser.evaluate("document.querySelector('[role=tab][aria-selected=true]').dataset.view"), view);
    for (const metric of ["flame", "tree", "treemap", "stacks"].includes(view) ? METRICS : ["peak"]) {
      await browser.evaluate(`(() => { const select = document.querySelector("#metric"); select.value = ${JSON.stringify(metric)}; select.dispatchEvent(new Event("change")); })()`);
      for (const key of ["u", "i", "i", "u"]) await browser.key(key);
    }
    await browser.screenshot(join(pictures, `${view}.png`));
    assert.notEqual(await text("main"), "", view);
    const hasScans = expected.info.scans.length > 0;
    if (view === "retained") assert.equal((await text("main")).includes("sysprof-memprof scan PID"), !hasScans, "without a scan it says how to get one");
  }
}

async function walkThroughTabs() {
  await browser.press("#tab-tree");
  await browser.evaluate("document.querySelector('#tab-tree').focus()");
  for (const [key, view] of [["End", VIEWS.at(-1)], ["ArrowRight", VIEWS[0]], ["ArrowLeft", VIEWS.at(-1)], ["Home", VIEWS[0]]]) {
    await browser.key(key);
    assert.equal(await browser.evaluate("document.querySelector('[role=tab][aria-selected=true]').dataset.view"), view, key);
    assert.equal(await browser.evaluate("document.activeElement.id"), `tab-${view}`, key);
  }
}

async function lookAtTheTree() {
  await browser.press("#tab-tree");
  await choose("peak");
  const first = await browser.evaluate("[...document.querySelectorAll('.table.tree .rows .row')].slice(0, 3).map((row) => row.textContent)");
  assert.ok(first[0].includes(bytes(totals.peak_bytes)), first[0]);
  const rows = () => browser.evaluate("Number(document.querySelector('.table.tree').getAttribute('aria-rowcount'))");
  const before = await rows();
  await browser.evaluate("[...document.querySelectorAll('.tree-view .tools button')].find((button) => button.textContent === 'Collapse all').click()");
  await browser.settled();
  assert.equal(await rows(), 2);
  await browser.evaluate("[...document.querySelectorAll('.tree-view .tools button')].find((button) => button.textContent === 'Expand all').click()");
  await browser.settled();
  assert.ok((await rows()) >= before);
  // Activating an open row closes it; the keys do the same.
  await browser.evaluate("document.querySelector('.table.tree .rows .row').click()");
  await browser.settled();
  assert.equal(await rows(), 2);
  await browser.evaluate("document.querySelector('.table.tree').focus()");
  await browser.key("ArrowRight");
  assert.ok((await rows()) > 2);
  // Who cannot see which row is the active one is told, and so again after a step.
  const told = () => browser.evaluate("document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))?.dataset.index");
  assert.equal(await told(), "0");
  await browser.key("ArrowDown");
  assert.equal(await told(), "1");
  assert.equal(await browser.evaluate("document.querySelector('.table.tree .row.active').id === document.activeElement.getAttribute('aria-activedescendant')"), true);
  await browser.key("ArrowUp");
}

async function choose(metric) {
  await browser.evaluate(`(() => { const select = document.querySelector("#metric"); select.value = ${JSON.stringify(metric)}; select.dispatchEvent(new Event("change")); })()`);
  await browser.settled();
}

async function lookAtTheFlameGraph() {
  await browser.press("#tab-flame");
  await choose("allocated");
  assert.ok((await isDrawn("canvas.flame")) > 3, "the flame graph is drawn");
  const { x, y, width } = await box("canvas.flame");
  await browser.click(x + 5, y + 50);
  assert.match(await fragment(), /focus=2/);
  assert.equal(await browser.evaluate("document.querySelector('.details').hidden"), false);
  assert.ok((await text(".details tr.chosen")).includes(bytes(totals.allocated_bytes)), await text(".details"));
  // The arrows walk, Enter zooms, Escape closes and then zooms out.
  await browser.evaluate("document.querySelector('canvas.flame').focus()");
  await browser.key("ArrowDown");
  await browser.key("Enter");
  assert.match(await fragment(), /focus=/);
  await browser.key("Escape");
  await browser.key("Escape");
  assert.doesNotMatch(await fragment(), /focus=/);
  await browser.send("Input.dispatchMouseEvent", { type: "mouseMoved", x: x + width / 2, y: y + 10 });
  await browser.settled();
  assert.ok((await text(".flame-scroller .tip")).includes("[Everything]"));
}

/** The flame graph as a file: well-formed, and each box with its name and its sum. */
async function keepTheFlameGraph() {
  await browser.press("#tab-flame");
  await choose("allocated");
  const folder = mkdtempSync(join(pictures, "kept-"));
  await browser.send("Page.setDownloadBehavior", { behavior: "allow", downloadPath: folder });
  await browser.press("#save");
  // The file is there, empty, before the browser has written it.
  const kept = () => readdirSync(folder).filter((name) => name.endsWith(".svg")).map((name) => readFileSync(join(folder, name), "utf8")).find((text) => text.trimEnd().endsWith("</svg>"));
  for (const end = Date.now() + 60_000; !kept() && Date.now() < end; ) await new Promise((resolve) => setTimeout(resolve, 20));
  const svg = kept() ?? "";
  const { wrong, titles } = await browser.evaluate(`(() => {
    const read = new DOMParser().parseFromString(${JSON.stringify(svg)}, "image/svg+xml");
    return { wrong: read.querySelector("parsererror") !== null, titles: [...read.querySelectorAll("g > title")].map((title) => title.textContent) };
  })()`);
  assert.equal(wrong, false, svg);
  assert.equal(titles[0], `[Everything]: ${bytes(totals.allocated_bytes)}, 100 %`);
  assert.ok(titles.length > 2);
}

async function searchForAFunction() {
  await browser.press("#tab-flame");
  // What can be typed: no line breaks and the like.
  const row = expected.functions.functions.find(({ kind, name }) => kind === "function" && /^[ -~]+$/.test(name));
  await browser.key("/");
  await browser.send("Input.insertText", { text: row.name.slice(0, 200) });
  await browser.settled();
  assert.ok((await text(".matched")).includes("%"), await text(".matched"));
  await browser.key("Escape");
  assert.equal(await text(".matched"), null);
}

/** What is copied now. */
async function copied() {
  await browser.until("document.querySelector('.said').textContent !== ''");
  assert.equal(await browser.evaluate("(({ textContent }) => (document.querySelector('.said').textContent = '', textContent))(document.querySelector('.said'))"), "Copied");
  return browser.evaluate("navigator.clipboard.readText()");
}

/** Without its title. */
const rowsOf = (outline) => outline.slice(outline.indexOf("\n\n")).trimEnd();

async function copyTheTree() {
  await browser.send("Browser.grantPermissions", { permissions: ["clipboardReadWrite", "clipboardSanitizedWrite"] });
  await browser.press("#tab-tree");
  await browser.evaluate("[...document.querySelectorAll('.tree-view .tools button')].find((button) => button.textContent === 'Expand all').click()");
  await choose("peak");
  await browser.key("Y");
  assert.equal(rowsOf(await copied()), rowsOf(expected.copied));
  await browser.key("y");
  const [heads, ...lines] = rowsOf(await copied()).trimStart().split("\n");
  assert.match(heads, /^bytes +share +blocks +self  function$/);
  // The table has a line more, under its heads.
  assert.equal(lines.length, rowsOf(expected.copied).trim().split("\n").length - 2);
  // Of a part of it, its own rows.
  await browser.press("#tab-flame");
  await browser.evaluate("document.querySelector('canvas.flame').focus()");
  await browser.key("ArrowDown");
  await browser.press("#copy-tree-markdown");
  const [head, , first] = rowsOf(await copied()).trim().split("\n");
  assert.match(head, /^\| bytes \| share \| blocks \| self \| function \|$/);
  assert.ok(first.includes(await text(".details h2")), first);
  await browser.key("Escape");
}

/** Each registered view has a button, and what is copied of its table is what the command line writes. */
async function lookAtTheTables() {
  await browser.press("#tab-tables");
  const views = await browser.evaluate("[...document.querySelectorAll('[data-table]')].map((button) => button.dataset.table)");
  assert.equal(views.length, Object.keys(expected.views).length);
  for (const view of views) {
    await browser.press(`[data-table=${view}]`);
    assert.equal(await browser.evaluate("document.querySelector('[data-table][aria-pressed=true]').dataset.table"), view);
    assert.notEqual(await text(".tables-view .texts"), null, view);
  }
  await browser.press("[data-table=sizes]");
  await browser.key("Y");
  const [ours, theirs] = [await copied(), expected.views.size].map((text) => text.trim().split("\n"));
  assert.deepEqual(ours.slice(0, 4), theirs.slice(0, 4));
  assert.equal(ours.length, theirs.length);
}

async function lookAtAFunction() {
  await browser.press("#tab-stacks");
  await choose("allocated");
  await browser.press(".table.stacks .rows .row");
  // It is selected in the tree, too.
  await browser.press("#tab-tree");
  assert.ok((await text(".table.tree .row.active")).endsWith(await text(".details h2")), await text(".table.tree .row.active"));
  // The selection of a stack is that of its innermost function; the flame graph leads to any.
  await browser.press("#tab-flame");
  await browser.evaluate("document.querySelector('canvas.flame').focus()");
  for (let depth = 0; depth < 20 && (await browser.evaluate("document.querySelector('#function') === null")); depth++) await browser.key("ArrowDown");
  const name = await text(".details h2");
  await browser.press("#function");
  assert.match(await fragment(), /view=function.*function=\d+/);
  if (/^[ -~]+$/.test(name)) assert.ok((await text(".function-view h2")).includes(name), name);
  const cells = (table) => browser.evaluate(`[...document.querySelectorAll(${JSON.stringify(`.function-view ${table} tbody tr`)})].map((row) => [...row.children].map((cell) => cell.textContent))`);
  const row = expected.functions.functions.find((row) => row.kind === "function" && row.name === name);
  if (!row) return;
  const [sized, aged] = [await cells(".sized"), await cells(".aged")];
  for (const rows of [sized, aged]) {
    assert.equal(rows.reduce((sum, [, blocks]) => sum + Number(blocks.replaceAll(",", "")), 0), row.total_blocks, name);
  }
  const lines = await cells(".lines");
  assert.ok(lines.length > 0, name);
  // A line that this machine has is shown.
  const places = await browser.evaluate("[...document.querySelectorAll('.function-view .lines [title]')].map((place) => place.title)");
  places.forEach((place, index) => {
    const [, file, line] = /^(.*):(\d+)$/.exec(place) ?? [];
    if (!file || !existsSync(file)) return;
    assert.equal(lines[index][4], readFileSync(file, "utf8").split("\n")[line - 1].trim());
    withSource += 1;
  });
}

async function lookAtTheMap() {
  await browser.press("#tab-map");
  assert.ok((await isDrawn("canvas.map")) > 1, "the map is drawn");
  await browser.press(".map-view [data-by=stacks]");
  assert.equal(await browser.evaluate("document.querySelector('.map-view [aria-pressed=true]').dataset.by"), "stacks");
  await browser.evaluate("document.querySelector('.map-view summary').click()");
  await browser.settled();
  const rows = await browser.evaluate("[...document.querySelectorAll('.map-view .same-numbers tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent))");
  // Every byte of the peak lies on a cell; the table has the first ones.
  assert.ok((await text(".map-view > p")).includes(`${bytes(totals.peak_bytes)} in`), await text(".map-view > p"));
  if (rows.length < 1000) assert.equal(rows.reduce((sum, [, , held]) => sum + Number(held.replaceAll(",", "")), 0), totals.peak_bytes);
  assert.ok(rows.every(([address, , held, stacks, largest]) => /^0x[0-9a-f]+$/.test(address) && held !== "0" && stacks !== "0" && largest !== ""));
  // Whose blocks keep which pages, below the map.
  const kept = await text(".map-view .texts");
  assert.ok(kept.includes(expected.pages.split("\n")[0].split(": ")[1]), kept);
  const { x, y } = await box("canvas.map");
  await browser.send("Input.dispatchMouseEvent", { type: "mouseMoved", x: x + 8, y: y + 5 });
  await browser.settled();
  const said = await text(".map-holder .tip");
  const [address, , held, stacks, largest] = rows[0];
  for (const part of [address, bytes(Number(held.replaceAll(",", ""))), counted(Number(stacks.replaceAll(",", "")), "different stack"), largest.split("; ")[0]]) assert.ok(said.includes(part), `${part} in ${said}`);
}

async function chooseAMark() {
  await browser.press("#tab-marks");
  const marks = expected.info.mark_names;
  const rows = await browser.evaluate("[...document.querySelectorAll('.table.marks .rows .row')].map((row) => [...row.querySelectorAll('.cell')].map((cell) => cell.textContent))");
  assert.equal(rows.length, marks.length);
  for (const { name, regions, instants, min_ns: shortest, mean_ns: mean, max_ns: longest } of marks) {
    const row = rows.find((cells) => cells[6].startsWith(name));
    assert.deepEqual(row.slice(0, 4), [count(regions || instants), ...[shortest, mean, longest].map((length) => (length === null ? "" : duration(length)))], name);
    const total = expected.during[name]?.nodes[0];
    assert.deepEqual(row.slice(4, 6), total ? [bytes(total.total_bytes), count(total.total_blocks)] : ["", ""], name);
  }
  // All of its regions are what every view is about.
  for (const [name, { nodes }] of Object.entries(expected.during)) {
    await browser.press("#tab-marks");
    const mark = marks.findIndex((row) => row.name === name);
    await browser.press(`.table.marks [data-mark="${mark}"]`);
    assert.equal(await browser.evaluate("document.querySelector('#metric').value"), "during");
    await browser.press("#tab-tree");
    assert.ok((await text(".table.tree .rows .row")).includes(bytes(nodes[0].total_bytes)), name);
  }
}

async function moveTheCursors() {
  await browser.key("0");
  const { x, y, width } = await box("canvas.timeline");
  const inside = (share) => x + 76 + (width - 88) * share;
  await browser.drag([inside(0.25), y + 60], [inside(0.6), y + 60]);
  assert.match(await fragment(), /a=\d+.*b=\d+/);
  await choose("growth");
  await browser.press("#tab-tree");
  const said = await text(".cursors");
  const growth = said.split("B − A")[1].trim();
  const root = await text(".table.tree .rows .row");
  assert.ok(root.includes(growth), `${root} has ${growth}`);
  await browser.screenshot(join(pictures, "growth.png"));
  await browser.key("0");
  assert.doesNotMatch(await fragment(), /[#&]a=/);
  // Chromium ignores whoever changes the address 200 times in ten seconds; and at the end it is what is shown.
  const [writes, seconds] = await browser.evaluate(`(async () => {
    const [replace, began] = [history.replaceState, performance.now()];
    let writes = 0;
    history.replaceState = (...told) => (writes++, replace.apply(history, told));
    for (let frame = 0; frame < 60; frame++) {
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: frame % 2 ? "[" : "]", bubbles: true }));
      await new Promise(requestAnimationFrame);
    }
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "]", bubbles: true }));
    const seconds = (performance.now() - began) / 1000;
    await new Promise((done) => setTimeout(done, 300));
    history.replaceState = replace;
    return [writes, seconds];
  })()`);
  assert.ok(writes <= 10 * seconds + 3, `${writes} in ${seconds} s`);
  assert.match(await fragment(), /[#&]a=1(&|$)/);
  await browser.key("0");
}

/** What was freed up to each moment; and who frees whose blocks, which is of the whole capture whatever is chosen, and says so. */
async function lookAtWhoFrees() {
  const all = async (metric, b) => {
    await browser.evaluate(`location.hash = "#view=tree&unit=blocks&metric=${metric}&a=0&b=${b}"`);
    await browser.settled();
    return Number((await text(".table.tree .rows .row .cell")).replaceAll(",", ""));
  };
  const slices = await browser.evaluate("Number(document.querySelector('input[type=range]').max)");
  let parts = 0;
  for (let b = 0; b <= slices; b++) {
    const [allocated, live, frees] = [await all("allocated", b), await all("live", b), await all("frees", b)];
    // What is left at its end a process holds no longer, and nobody has freed it.
    assert.ok([0, totals.leaked_blocks].includes(allocated - live - frees), `at ${b}: ${allocated} allocated, ${live} live, ${frees} freed`);
    if (allocated > 0 && frees < totals.frees) parts += 1;
  }
  assert.ok(parts > 0 && (await all("frees", slices)) === totals.frees);
  const lists = () => browser.evaluate("[...document.querySelectorAll('.details .ends, .details .owners')].map((list) => [list.previousSibling.textContent, list.textContent])");
  await browser.evaluate("document.querySelector('.table.tree').focus()");
  await browser.key("ArrowDown");
  const whole = await lists();
  assert.ok(whole.length > 0 && whole.every(([title]) => title.endsWith(" in the whole capture")), JSON.stringify(whole));
  const chosen = await fragment();
  await browser.key(",");
  assert.notEqual(await fragment(), chosen);
  assert.deepEqual(await lists(), whole);
  await browser.key("Escape");
}

await browser.withoutFaults(async () => {
  await browser.open(page);
  await lookAtOverview();
  await walkThroughTabs();
  await lookAtEveryView();
  if (!isEmpty) {
    await lookAtTheTree();
    await copyTheTree();
    await lookAtTheTables();
    await lookAtTheFlameGraph();
    await keepTheFlameGraph();
    await lookAtAFunction();
    await lookAtTheMap();
    await searchForAFunction();
    if (Object.keys(expected.during).length) await chooseAMark();
    await moveTheCursors();
    if (expected.frees) await lookAtWhoFrees();
  }
  await browser.key("t");
  await browser.screenshot(join(pictures, "dark.png"));
  // What is looked at is in the address, and comes back with it.
  await browser.press("#tab-treemap");
  const kept = await fragment();
  await browser.open(page, kept);
  assert.equal(await fragment(), kept);
  assert.equal(await browser.evaluate("document.querySelector('[role=tab][aria-selected=true]').dataset.view"), "treemap");
  await browser.press("#tab-overview");
  await lookAtOverview();
  assert.equal(await browser.evaluate("document.querySelectorAll('img, iframe, link, object, embed, style:not(head style)').length"), 0);
  assert.notEqual(await browser.evaluate("document.title"), "broken in");
  if (expected.function?.name === "main") assert.ok(withSource > 0, "the source of our own programs is here");
});
