// A browser without a window, driven over two pipes (Chrome DevTools Protocol). Nothing but node is needed.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** Milliseconds after which a browser that does not answer is taken for dead; nothing is measured by it. */
const PATIENCE = 120_000;
/** The page is drawn, or says why it cannot be. */
const READY = "document.documentElement?.dataset.ready === 'true' || document.querySelector('.unreadable') !== null";

export class Browser {
  constructor(program) {
    this.profile = mkdtempSync(join(tmpdir(), "page-test-"));
    // Tests change the page's address faster than a person could, and than a browser otherwise permits.
    const options = ["--disable-ipc-flooding-protection", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe", "--no-first-run", "--window-size=1440,900", `--user-data-dir=${this.profile}`, "about:blank"];
    this.process = spawn(program, options, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    this.answers = new Map();
    this.next = 1;
    /** Loads of data that were begun. */
    this.loads = 0;
    /** Everything that went wrong: exceptions, errors of the console, requests. */
    this.faults = [];
    let rest = "";
    this.process.stdio[4].on("data", (data) => {
      const messages = (rest + data).split("\0");
      rest = messages.pop();
      messages.forEach((message) => this.receive(JSON.parse(message)));
    });
    this.process.on("exit", () => this.answers.forEach(({ reject }) => reject(new Error("the browser has ended"))));
  }

  receive(message) {
    const waiting = this.answers.get(message.id);
    if (waiting) {
      this.answers.delete(message.id);
      if (message.error) waiting.reject(new Error(JSON.stringify(message.error)));
      else waiting.resolve(message.result);
      return;
    }
    const { method, params } = message;
    if (method === "Runtime.exceptionThrown") this.faults.push(`exception: ${params.exceptionDetails.exception?.description ?? params.exceptionDetails.text}`);
    if (method === "Runtime.consoleAPICalled" && ["error", "warning", "assert"].includes(params.type)) this.faults.push(`console: ${params.args.map((value) => value.value ?? value.description).join(" ")}`);
    if (method === "Log.entryAdded" && ["error", "warning"].includes(params.entry.level)) this.faults.push(`log: ${params.entry.text}`);
    if (method === "Page.javascriptDialogOpening") this.faults.push(`dialog: ${params.message}`);
    if (method === "Network.requestWillBeSent" && /\/data(\?|$)/.test(params.request.url)) this.loads += 1;
    if (method === "Network.requestWillBeSent" && !this.isExpected(params.request.url)) this.faults.push(`request: ${params.request.url.slice(0, 200)}`);
  }

  send(method, params = {}) {
    const id = this.next++;
    const sessionId = this.session;
    this.process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no answer to ${method}`)), PATIENCE);
      const end = (settle) => (value) => (clearTimeout(timer), settle(value));
      this.answers.set(id, { resolve: end(resolve), reject: end(reject) });
    });
  }

  /** A page asks for nothing; one of a server asks that for its data, for views, for what scans found, and for drawings. */
  isExpected(url) {
    const [path] = url.split(/[?#]/);
    return path === this.address || (this.address.startsWith("http:") && ["data", "view", "retained", "graph.svg"].some((name) => path === this.address + name));
  }

  /** Opens a file, or the address of a server, and waits until the page says that it is ready. */
  async open(file, fragment = "") {
    this.session = undefined;
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    this.session = sessionId;
    this.address = file.startsWith("http:") ? file : pathToFileURL(file).href;
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await this.send(`${domain}.enable`);
    await this.send("Emulation.setDeviceMetricsOverride", { width: 1440, height: 900, deviceScaleFactor: 1, mobile: false });
    await this.send("Page.navigate", { url: this.address + fragment });
    await this.until(READY);
  }

  /** What an expression gives in the page; promises are waited for. */
  async evaluate(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    return result.value;
  }

  /** Whether a condition is true. A page that is being left answers nothing. */
  async holds(condition) {
    try {
      return await this.evaluate(condition);
    } catch (error) {
      if (/navigated or closed|context was destroyed|Cannot find/.test(error.message)) return false;
      throw error;
    }
  }

  async until(condition) {
    const end = Date.now() + PATIENCE;
    while (!(await this.holds(condition))) {
      if (Date.now() > end) throw new Error(`never true: ${condition}; ${this.faults.join("; ")}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await this.settled();
  }

  /** Waits until everything that was asked for is counted and drawn. */
  settled() {
    return this.evaluate(`new Promise((done) => {
      const look = () => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(document.querySelector("[aria-busy=true]") ? look : done)));
      look();
    })`);
  }

  /** The view in the page's address, which follows within a tenth of a second. */
  async fragment() {
    await new Promise((resolve) => setTimeout(resolve, 100));
    return this.evaluate("location.hash");
  }

  async click(x, y, count = 1) {
    for (const type of ["mouseMoved", "mousePressed", "mouseReleased"]) await this.send("Input.dispatchMouseEvent", { type, x, y, button: type === "mouseMoved" ? "none" : "left", clickCount: count });
    await this.settled();
  }

  async drag(from, to) {
    const event = (type, [x, y], button = "left") => this.send("Input.dispatchMouseEvent", { type, x, y, button, buttons: type === "mouseReleased" ? 0 : 1, clickCount: 1 });
    await event("mouseMoved", from, "none");
    await event("mousePressed", from);
    await event("mouseMoved", [(from[0] + to[0]) / 2, from[1]]);
    await event("mouseMoved", to);
    await event("mouseReleased", to);
    await this.settled();
  }

  async key(key) {
    const text = key.length === 1 ? key : undefined;
    await this.send("Input.dispatchKeyEvent", { type: "keyDown", key, text });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", key });
    await this.settled();
  }

  async press(selector) {
    await this.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`);
    await this.settled();
  }

  /** Presses what leads to another page, and waits until that is there. */
  async follow(selector) {
    // Later: the page that is left could not say that it has been done.
    await this.evaluate(`document.documentElement.dataset.ready = "no"; setTimeout(() => document.querySelector(${JSON.stringify(selector)}).click()); true`);
    await this.until(READY);
  }

  async screenshot(file) {
    const { data } = await this.send("Page.captureScreenshot", { format: "png" });
    writeFileSync(file, Buffer.from(data, "base64"));
  }

  /** Does something during which nothing may go wrong in the page, and closes the browser. When it fails, it is said what went wrong there. */
  async withoutFaults(act) {
    try {
      await act();
      assert.deepEqual(this.faults, []);
    } catch (error) {
      console.error(this.faults.join("\n"));
      throw error;
    } finally {
      await this.close();
    }
  }

  async close() {
    this.session = undefined;
    const ended = new Promise((resolve) => this.process.on("exit", resolve));
    await this.send("Browser.close").catch(() => this.process.kill());
    await ended;
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
