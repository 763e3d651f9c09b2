// Measures a page in a browser: how long it takes until it is drawn, and each step: into its flame graph, inverted, too, and of a
// search. The first step is taken as soon as the page is there.
// Usage: node page.mjs BROWSER PAGE

import { Browser } from "../web/browser.mjs";

const [program, page] = process.argv.slice(2);
const STEPS = 40;
/** What is searched, letter by letter. */
const TYPED = ["r", "re", "rea", "real", "reall", "", "a", "al", "all", "allo", "alloc", ""];
/** Does something, and waits for all that is drawn because of it: the next frame is over when the task after it runs. */
const TIMED = `(async (act) => {
  const begun = performance.now();
  act();
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - begun;
})`;
const click = (x, y) => `() => {
  const canvas = document.querySelector("canvas.flame");
  const box = canvas.getBoundingClientRect();
  canvas.dispatchEvent(new MouseEvent("click", { clientX: box.x + ${x} * box.width, clientY: box.y + ${y}, bubbles: true }));
}`;
const type = (text) => `() => {
  const field = document.querySelector("#search");
  field.value = ${JSON.stringify(text)};
  field.dispatchEvent(new Event("input"));
}`;

const browser = new Browser(program);

/** Processor time of the page's thread so far, in milliseconds. */
async function used() {
  const { metrics } = await browser.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "TaskDuration").value * 1000;
}

/** Milliseconds until what is known of the selection stands beside the graph. */
async function counted(act) {
  return browser.evaluate(`(async () => {
    const begun = performance.now();
    (${act})();
    const isBusy = () => document.querySelector(".details")?.hidden || document.querySelector("[aria-busy=true]");
    do await new Promise((done) => requestAnimationFrame(() => setTimeout(done))); while (isBusy());
    return performance.now() - begun;
  })()`);
}

async function measure(what, acts) {
  const times = [];
  for (const act of acts) {
    const before = await used();
    const passed = await browser.evaluate(`${TIMED}(${act})`);
    times.push([passed, (await used()) - before]);
  }
  const said = [0, 1].map((index) => {
    const sorted = times.map((time) => time[index]).sort((a, b) => a - b);
    return [sorted[sorted.length >> 1], sorted[sorted.length - 1]].map((time) => `${time.toFixed(0)} ms`);
  });
  const [[median, most], [cpu, mostCpu]] = said;
  console.log(`${what} takes ${median} in the median, ${most} at most, until it is drawn; of the processor ${cpu} and ${mostCpu}`);
}

try {
  const begun = performance.now();
  await browser.open(page);
  console.log(`drawn after ${Math.round(performance.now() - begun)} ms, the browser's tab included`);
  await browser.send("Performance.enable", { timeDomain: "threadTicks" });
  await browser.press("#tab-flame");
  // Inwards four times, then out again by a click on the root.
  const steps = Array.from({ length: STEPS }, (_, step) => (step % 5 === 4 ? click(0.1, 8) : click(0.1 + 0.2 * (step % 4), 60 + 18 * (step % 4))));
  await measure("a step in the flame graph", steps);
  await measure("a letter of a search", TYPED.map(type));
  await browser.press("#inverted");
  await measure("a step in the inverted flame graph", steps);
  await browser.open(page);
  await browser.press("#tab-flame");
  console.log(`numbers of the first selection after ${Math.round(await counted(steps[0]))} ms`);
} finally {
  await browser.close();
}
