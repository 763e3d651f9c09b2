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

/** The data that lies in the page. */
export async function embedded() {
  const holder = document.getElementById("data");
  const bytes = await inflated(fromBase64(holder.textContent));
  // Its text is not needed any more, and it is the largest thing in the page.
  holder.remove();
  return bytes;
}
