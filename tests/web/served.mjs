// Looks at the page of a server: its data, and a range of it in detail. Usage: node served.mjs ASSETS BROWSER ADDRESS EXPECTED

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { Browser } from "./browser.mjs";

const [assets, program, address, expectedFile] = process.argv.slice(2);
const { bytes } = await import(pathToFileURL(`${assets}/format.js`).href);
const expected = JSON.parse(readFileSync(expectedFile, "utf8"));

const browser = new Browser(program);
const peak = () => browser.evaluate("document.querySelector('[data-fact=peak]').textContent");
const slices = () => browser.evaluate("Number(document.querySelector('input[type=range]').max)");
const cursors = () => browser.evaluate("[...document.querySelectorAll('.cursor')].map((cursor) => cursor.textContent).join(' ')");

try {
  await browser.open(address);
  assert.ok((await peak()).includes(bytes(expected.info.totals.peak_bytes)));
  const coarse = await slices();
  // From the third slice to the sixth: the cursors are moved with keys.
  for (const key of ["0", "]", "]", "]"]) await browser.key(key);
  for (let moves = 0; moves < coarse; moves += 10) await browser.key("<");
  for (const key of [".", ".", ".", ".", ".", "."]) await browser.key(key);
  const said = await cursors();
  await browser.follow("#closer");
  assert.match(await browser.evaluate("location.hash"), /from=\d+&to=\d+/);
  assert.ok((await peak()).includes(bytes(expected.info.totals.peak_bytes)), "the whole is still known");
  assert.ok((await slices()) >= 1, said);
  await browser.follow("#all");
  assert.equal(await browser.evaluate("location.hash.includes('from=')"), false);
  assert.equal(await slices(), coarse);
  assert.deepEqual(browser.faults, []);
} finally {
  await browser.close();
}
