// A flame graph as a separate file, for documents and mails: what the page draws, box by box, without a script.

/** Height of the title above the boxes. */
const HEAD = 26;

/** Characters that XML cannot contain. */
const UNWRITABLE = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

/** Escapes a text for XML. */
export function escaped(text) {
  return text.replace(UNWRITABLE, "\u{fffd}").replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

/**
 * The file. For each box, `describe` returns its colour, its title, and as much of its name as fits. `colours` are
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
