// Looks at the page of a server: its data, and a range of it in detail. Usage: node served.mjs ASSETS BROWSER ADDRESS EXPECTED

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { Browser } from "./browser.mjs";

const [assets, program, address, expectedFile] = process.argv.slice(2);
const { bytes, count } = await import(pathToFileURL(`${assets}/format.js`).href);
const expected = JSON.parse(readFileSync(expectedFile, "utf8"));

const browser = new Browser(program);
const peak = () => browser.evaluate("document.querySelector('[data-fact=peak]').textContent");
const slices = () => browser.evaluate("Number(document.querySelector('input[type=range]').max)");
const cursors = () => browser.evaluate("[...document.querySelectorAll('.cursor')].map((cursor) => cursor.textContent).join(' ')");

await browser.withoutFaults(async () => {
  await browser.open(address);
  // As soon as it is there it has the numbers of `info`.
  const { totals } = expected.info;
  const facts = await browser.evaluate("Object.fromEntries([...document.querySelectorAll('.fact')].map((fact) => [fact.dataset.fact, fact.textContent]))");
  for (const [fact, size, blocks] of [["peak", totals.peak_bytes, totals.peak_blocks], ["leaked", totals.left.leaked.bytes, totals.left.leaked.blocks], ["allocated", totals.allocated_bytes, totals.allocations]]) {
    assert.ok(facts[fact].includes(bytes(size)) && facts[fact].includes(count(blocks)), facts[fact]);
  }
  const coarse = await slices();
  // From the third slice to the sixth: the cursors are moved with keys.
  for (const key of ["0", "]", "]", "]"]) await browser.key(key);
  for (let moves = 0; moves < coarse; moves += 10) await browser.key("<");
  for (const key of [".", ".", ".", ".", ".", "."]) await browser.key(key);
  const said = await cursors();
  await browser.follow("#closer");
  assert.match(await browser.fragment(), /from=\d+&to=\d+/);
  assert.ok((await peak()).includes(bytes(expected.info.totals.peak_bytes)), "the whole is still known");
  assert.ok((await slices()) >= 1, said);
  await browser.follow("#all");
  assert.doesNotMatch(await browser.fragment(), /from=/);
  assert.equal(await slices(), coarse);
  // So does Escape, from a link to a range that ends within a slice.
  const { duration_ns: duration } = expected.info;
  const [from, to] = [Math.floor(duration / 4), Math.floor((duration * 3) / 4) + 1];
  await browser.open(address, `#view=tree&from=${from}&to=${to}`);
  await browser.evaluate("document.documentElement.dataset.ready = 'no'; true");
  await browser.key("Escape");
  await browser.until("document.documentElement.dataset.ready === 'true' && !location.hash.includes('from=')");
  assert.equal(await slices(), coarse);
  // Tables are counted on request, and copied as they are shown.
  await browser.open(address, "#view=tables&table=threads");
  assert.match(await browser.evaluate("document.querySelector('.tables-view .texts').textContent"), /allocations.*not freed/s);
  await browser.press("[data-table=sizes]");
  assert.match(await browser.evaluate("document.querySelector('.tables-view .texts').textContent"), /slack/);
  assert.match(await browser.fragment(), /table=sizes/);
  await browser.open(address, "#view=tree");
  // A hundred zooms, faster than they can be answered: one load at a time, and at last the picture of the last one.
  const before = browser.loads - (await browser.evaluate("Number(document.documentElement.dataset.loads)"));
  await browser.evaluate("document.documentElement.dataset.ready = 'no'; true");
  await browser.evaluate(`(async () => {
    for (let zoom = 1; zoom <= 100; zoom++) {
      location.hash = "view=tree&metric=allocated&from=" + 1000 * zoom + "&to=" + (${expected.info.duration_ns} - 1000 * zoom);
      await new Promise((done) => setTimeout(done, zoom % 4));
    }
  })()`);
  await browser.until("document.documentElement.dataset.ready === 'true' && document.documentElement.dataset.loading === undefined");
  const counted = await browser.evaluate("[document.documentElement.dataset.loads, document.documentElement.dataset.mostLoads].map(Number)");
  assert.equal(counted[1], 1, "one load at a time");
  // The page counts what the browser sees.
  assert.ok(counted[0] === browser.loads - before && counted[0] <= 103, `${counted[0]} of ${browser.loads}`);
  const picture = () => browser.evaluate("[location.hash, document.querySelector('.cursors').textContent, document.querySelector('canvas.timeline').toDataURL(), document.querySelector('.table.tree').textContent].join('\\n')");
  const found = await picture();
  assert.match(found, /from=100000&to=/);
  const fragment = await browser.fragment();
  await browser.open(address, fragment);
  assert.equal(await picture(), found, "the same as when it is opened afresh");
});
