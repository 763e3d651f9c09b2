// Sources of data. A source is a function that returns bytes; the page uses this one, and accepts any other.

/** Decodes base64. */
export function fromBase64(text) {
  const letters = atob(text.trim());
  const bytes = new Uint8Array(letters.length);
  for (let index = 0; index < letters.length; index++) bytes[index] = letters.charCodeAt(index);
  return bytes;
}

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The server's response, abortable by a signal; an error has its status. */
async function asked(path, signal) {
  const answer = await fetch(path, { signal });
  if (!answer.ok) throw Object.assign(new Error(await answer.text()), { status: answer.status });
  return answer;
}

/** The same as inflated data. */
async function served(path, signal) {
  return inflated(new Uint8Array(await (await asked(path, signal)).arrayBuffer()));
}

/** The server's drawing of a call graph as text. */
export async function drawing(question, signal) {
  return (await asked(`graph.svg?${question}`, signal)).text();
}

/** The tables of a view of the blocks that were allocated in a range, if given; abortable by a signal. */
export async function viewSource(name, { from, to }, signal) {
  const range = to > from ? `&from=${from}&to=${to}` : "";
  return (await asked(`view?view=${encodeURIComponent(name)}${range}`, signal)).json();
}

/** Scans are kept in elements of their own until somebody looks at them. */
const scans = new Map();

/** Detaches these elements, since the page replaces the content of the document. */
export function keepScans() {
  for (const element of document.querySelectorAll("script[id^=scan-]")) scans.set(Number(element.id.slice(5)), element);
}

/** Whether a scan is in the page, or available from the server if there is one. */
export function hasScan(number, canAsk) {
  return canAsk || scans.has(number);
}

/** The data of a scan, from the page or the server, abortable by a signal; null if neither has it. */
export async function scanSource({ number, time_ns: time }, canAsk, signal) {
  const element = scans.get(number);
  if (element) return inflated(fromBase64(element.textContent));
  return canAsk ? served(`retained?scan=${number}&time=${time}`, signal) : null;
}

/** True when the page came from a server that can be asked for more. */
export function isServed() {
  return location.protocol !== "file:" && document.getElementById("data")?.textContent === "";
}

/**
 * The data that is part of the page, or else the server's, with the finest slices in a range of time, if given;
 * abortable by a signal.
 */
export async function source({ from, to }, signal) {
  const holder = document.getElementById("data");
  if (!holder || holder.textContent === "") return served(to > from ? `data?from=${from}&to=${to}` : "data", signal);
  const bytes = await inflated(fromBase64(holder.textContent));
  // Its text is no longer needed, and is the largest part of the page.
  holder.remove();
  return bytes;
}
