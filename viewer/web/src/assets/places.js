// Source lines, and links to them.

/** URL schemes that run something in the page instead of opening a file. */
const DANGEROUS = /^\s*(javascript|data|vbscript|blob):/i;

/** A path on the reader's machine. */
export function mapped(path, map) {
  const rule = map.find(([from]) => path === from || path.startsWith(from.endsWith("/") ? from : `${from}/`));
  return rule ? rule[1] + path.slice(rule[0].length) : path;
}

/** The URL of a line; none without a template, or for one that would run something. */
export function sourceAddress(template, map, file, line) {
  if (!template || !file || DANGEROUS.test(template)) return null;
  const path = mapped(file, map).split("/").map(encodeURIComponent).join("/");
  // An absolute path begins with a slash, and most templates have one before the placeholder as well.
  const placed = template.replace(/(\/?)\{path\}/, (_, slash) => (slash && path.startsWith("/") ? path : slash + path));
  return placed.replace("{line}", String(line || 1));
}

/** Most trailing parts that are tried before the whole path is shown. */
const MOST_PARTS = 4;

/** By path, its shortest suffix, in whole parts, that no other one has. */
export function shortestEnds(paths) {
  const ends = new Map();
  for (let parts = MOST_PARTS; parts > 0; parts--) {
    const times = new Map();
    for (const path of paths) times.set(end(path, parts), (times.get(end(path, parts)) ?? 0) + 1);
    for (const path of paths) if (times.get(end(path, parts)) === 1) ends.set(path, end(path, parts));
  }
  return ends;
}

function end(path, parts) {
  return path.split("/").slice(-parts).join("/");
}

/** The last part of a path. */
export function fileName(path) {
  return path.slice(path.lastIndexOf("/") + 1) || path;
}
