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
