// A page has few of many scans of one process, and says which: a server has all. Usage: node many_scans.mjs ASSETS BROWSER PAGE SCANS [ADDRESS]

import assert from "node:assert/strict";
import { Browser } from "./browser.mjs";

const [, program, page, all, address] = process.argv.slice(2);
const scans = Number(all);
/** As many of one process as a page has. */
const MOST = 4;
const browser = new Browser(program);
const said = () => browser.evaluate("document.querySelector('main').textContent");
const options = () => browser.evaluate("[...document.querySelectorAll('#scan option')].map((option) => [Number(option.value), option.textContent])");

async function choose(number) {
  await browser.evaluate(`(() => { const scan = document.querySelector("#scan"); scan.value = ${number}; scan.dispatchEvent(new Event("change")); })()`);
  await browser.settled();
}

await browser.withoutFaults(async () => {
  await browser.open(page, "#view=retained");
  await browser.until("document.querySelector('.retained-said') !== null");
  const listed = await options();
  assert.deepEqual(listed.map(([number]) => number), Array.from({ length: scans }, (_, place) => scans - place), "the last one comes first");
  const missing = listed.filter(([, text]) => text.includes("not in this page"));
  assert.equal(missing.length, scans - MOST);
  assert.ok(missing.every(([number]) => number !== scans), "the last one is there");
  for (const [number, text] of listed) {
    await choose(number);
    const isMissing = text.includes("not in this page");
    assert.ok((await said()).includes(isMissing ? `sysprof-memprof retained --scan ${number}` : `Scan ${number} of ${scans}`), await said());
  }
  if (!address) return;
  await browser.open(address, "#view=retained");
  await browser.until("document.querySelector('.retained-said') !== null");
  for (const [number, text] of await options()) {
    assert.equal(text.includes("not in this page"), false);
    await choose(number);
    await browser.until(`document.querySelector('.retained-head').textContent.includes("Scan ${number} of ${scans}")`);
  }
});
