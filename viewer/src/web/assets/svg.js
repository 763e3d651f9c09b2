// A flame graph as a file of its own, for documents and mails: what the page draws, box by box, without any script.

/** Above the boxes: a title. */
const HEAD = 26;

/** What a file of XML cannot hold. */
const UNWRITABLE = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

/** A text that is nothing but text in a file of XML. */
export function escaped(text) {
  return text.replace(UNWRITABLE, "\u{fffd}").replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

/**
 * The file. Of each box `describe` gives its colour, its title, and of its name as much as there is room for. `colours` has
 * those of the page: `text` and `surface`.
 */
export function flameSvg({ title, font, colours, boxes, width, rowHeight, describe }) {
  const rows = boxes.reduce((deepest, { depth }) => Math.max(deepest, depth), 0) + 1;
  const height = HEAD + rows * rowHeight + 2;
  const drawn = boxes.map((box) => {
    const { colour, name, said } = describe(box);
    const y = HEAD + box.depth * rowHeight;
    const room = box.right - box.left;
    const rect = `<rect x="${box.left.toFixed(2)}" y="${y}" width="${Math.max(room - (room > 3 ? 1 : 0), 0.5).toFixed(2)}" height="${rowHeight - 1}" fill="${escaped(colour)}"/>`;
    const text = name && `<text x="${(box.left + 4).toFixed(2)}" y="${y + rowHeight - 6}">${escaped(name)}</text>`;
    return `<g><title>${escaped(said)}</title>${rect}${text}</g>`;
  });
  return [
    `<?xml version="1.0" encoding="UTF-8"?>`,
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${escaped(font)}" font-size="12" fill="${escaped(colours.text)}">`,
    `<rect width="100%" height="100%" fill="${escaped(colours.surface)}"/>`,
    `<text x="4" y="17" font-weight="bold">${escaped(title)}</text>`,
    ...drawn,
    "</svg>\n",
  ].join("\n");
}
