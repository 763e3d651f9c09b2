// Where the data comes from. A source is a function that gives its bytes; the page knows this one, and takes any other.

import { inflate } from "./inflate.js";

/** The bytes that some base64 stands for. */
export function fromBase64(text) {
  const letters = atob(text.trim());
  const bytes = new Uint8Array(letters.length);
  for (let index = 0; index < letters.length; index++) bytes[index] = letters.charCodeAt(index);
  return bytes;
}

async function inflated(bytes) {
  if (typeof DecompressionStream === "undefined") return inflate(bytes);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The server's data, with the finest slices in a range of time when there is one. */
async function served({ from, to }, signal) {
  const range = to > from ? `?from=${from}&to=${to}` : "";
  const answer = await fetch(`data${range}`, { signal });
  if (!answer.ok) throw new Error(await answer.text());
  return inflated(new Uint8Array(await answer.arrayBuffer()));
}

/** The server's drawing of a call graph, as a text; an error has the status of what it says instead. */
export async function drawing(question, signal) {
  const answer = await fetch(`graph.svg?${question}`, { signal });
  const text = await answer.text();
  if (!answer.ok) throw Object.assign(new Error(text), { status: answer.status });
  return text;
}

/** What scans found lies in elements of its own, as long as nobody has looked at it. */
const scans = new Map();

/** Takes hold of these elements: what the page shows takes their place in the document. */
export function keepScans() {
  for (const element of document.querySelectorAll("script[id^=scan-]")) scans.set(Number(element.id.slice(5)), element);
}

/** Whether what a scan found is in the page, or with the server if there is one. */
export function hasScan(number, canAsk) {
  return canAsk || scans.has(number);
}

/** What a scan found, in the page or from the server if there is one, up to a signal; null where it is in neither. */
export async function scanSource({ number, time_ns: time }, canAsk, signal) {
  const element = scans.get(number);
  if (element) return inflated(fromBase64(element.textContent));
  if (!canAsk) return null;
  const answer = await fetch(`retained?scan=${number}&time=${time}`, { signal });
  if (!answer.ok) throw Object.assign(new Error(await answer.text()), { status: answer.status });
  return inflated(new Uint8Array(await answer.arrayBuffer()));
}

/** True when the page came from a server, which can be asked for more. */
export function isServed() {
  return location.protocol !== "file:" && document.getElementById("data")?.textContent === "";
}

/** The data that lies in the page, or else the server's, up to a signal. */
export async function source(range, signal) {
  const holder = document.getElementById("data");
  if (!holder || holder.textContent === "") return served(range, signal);
  const bytes = await inflated(fromBase64(holder.textContent));
  // Its text is not needed any more, and it is the largest thing in the page.
  holder.remove();
  return bytes;
}
