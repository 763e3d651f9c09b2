// Looks at what the kernel says of memory, on the timeline and in its table, and at what samples do not tell of. Usage: node tracks.mjs ASSETS BROWSER PAGE

import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { Browser } from "./browser.mjs";

const [assets, program, page] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${assets}/${name}.js`).href);
const { count } = await load("format");
const { HEIGHTS, RULER } = await load("tracks");
const MIB = 1 << 20;
/** Of the capture that the test has written: what each reading says more. */
const EACH = { resident: 4 * MIB, proportional: 3 * MIB, swapped: MIB };

const browser = new Browser(program);
/** Different colours in strips of the timeline, each from its beginning to its end. */
const coloursIn = (...strips) =>
  browser.evaluate(`(() => {
    const canvas = document.querySelector("canvas.timeline");
    // Read once: a browser warns of more.
    const { data, width } = canvas.getContext("2d").getImageData(80, 0, canvas.width - 100, canvas.height);
    const pixels = new Uint32Array(data.buffer);
    return ${JSON.stringify(strips)}.map(([top, height]) => new Set(pixels.subarray(top * width, (top + height) * width)).size);
  })()`);

await browser.withoutFaults(async () => {
  await browser.open(page);
  const warnings = await browser.evaluate("[...document.querySelectorAll('.warnings li')].map((line) => line.textContent)");
  for (const said of ["a quarter of the work has no samples", "30 of 100 samples have truncated stacks"]) {
    assert.ok(warnings.some((warning) => warning.includes(said)), `${said} in ${warnings.join("; ")}`);
  }
  const tracks = (await browser.evaluate("document.querySelector('canvas.timeline').dataset.tracks")).split(", ");
  for (const name of Object.keys(EACH)) assert.ok(tracks.includes(name), `${name} in ${tracks}`);
  await browser.evaluate("document.querySelector('.timeline-box summary').click()");
  await browser.settled();
  const table = await browser.evaluate("[...document.querySelectorAll('.same-numbers table tr')].map((row) => [...row.children].map((cell) => cell.textContent))");
  const [heads, ...rows] = table;
  for (const [name, each] of Object.entries(EACH)) {
    const column = heads.indexOf(name);
    assert.ok(column > 0, `${name} in ${heads}`);
    const said = [...new Set(rows.map((row) => row[column]))];
    // Before the first reading nothing is known; then each says more than the one before.
    assert.deepEqual(said.filter((size) => size !== "0"), [1, 2, 3, 4, 5].map((step) => count(each * step)), name);
  }
  // Each of them is drawn: bars of one colour on another.
  const heightOf = (name) => HEIGHTS[name === RULER ? "ruler" : name] ?? HEIGHTS.other;
  const topOf = (name) => tracks.slice(0, tracks.indexOf(name)).reduce((sum, above) => sum + heightOf(above), 0);
  const [inBars, inRuler] = await coloursIn([topOf("resident") + 4, 20], [topOf(RULER) + 4, 10]);
  assert.ok(inBars > 1, "the resident track is drawn");
  // The ruler is the last of them, and ends where the picture does.
  assert.equal(tracks.at(-1), RULER);
  assert.ok(inRuler > 3, "the ruler has times");
  assert.equal(await browser.evaluate("document.querySelector('canvas.timeline').getBoundingClientRect().height"), topOf(RULER) + heightOf(RULER));
});
