// Measures a page in a browser: how long it takes until it is drawn, and each step into its flame graph.
// Usage: node page.mjs BROWSER PAGE

import { Browser } from "../web/browser.mjs";

const [program, page] = process.argv.slice(2);
const STEPS = 40;
// A click, and all that is drawn because of it: the next frame is over when the task after it runs.
const CLICK = `(async (x, y) => {
  const canvas = document.querySelector("canvas.flame");
  const box = canvas.getBoundingClientRect();
  const begun = performance.now();
  canvas.dispatchEvent(new MouseEvent("click", { clientX: box.x + x * box.width, clientY: box.y + y, bubbles: true }));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - begun;
})`;

const browser = new Browser(program);
try {
  const begun = performance.now();
  await browser.open(page);
  console.log(`drawn after ${Math.round(performance.now() - begun)} ms, the browser's tab included`);
  await browser.press("#tab-flame");
  const times = [];
  for (let step = 0; step < STEPS; step++) {
    // Inwards four times, then out again by a click on the root.
    const [x, y] = step % 5 === 4 ? [0.1, 8] : [0.1 + 0.2 * (step % 4), 60 + 18 * (step % 4)];
    times.push(await browser.evaluate(`${CLICK}(${x}, ${y})`));
  }
  times.sort((a, b) => a - b);
  console.log(`a step in the flame graph takes ${times[STEPS / 2].toFixed(0)} ms in the median, ${times[STEPS - 1].toFixed(0)} ms at most, until it is drawn`);
} finally {
  await browser.close();
}
