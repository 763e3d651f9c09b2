// The layout of a flame graph.

/** Boxes narrower than this, in pixels, are drawn together as one. */
const NARROWEST = 0.5;

/**
 * The boxes of everything on the path to `focus` at full width, and of what is below it by size. Positions are in
 * pixels. A box without a node stands for those children of its parent that are too narrow.
 *
 * Cost: the children of visible nodes, so a tree of a million nodes takes some milliseconds.
 */
export function boxes(tree, size, focus, width) {
  const path = tree.path(focus).reverse();
  const found = path.map((node, depth) => ({ node, parent: node, depth, left: 0, right: width }));
  const whole = size[focus];
  if (!(whole > 0)) return found;
  const ahead = [found[found.length - 1]];
  while (ahead.length) {
    const box = ahead.pop();
    const scale = (box.right - box.left) / size[box.node];
    const wide = [];
    let narrow = 0;
    for (const child of tree.childrenOf(box.node)) {
      if (size[child] * scale >= NARROWEST) wide.push(child);
      else if (size[child] > 0) narrow += size[child];
    }
    wide.sort((a, b) => size[b] - size[a] || a - b);
    let left = box.left;
    const depth = box.depth + 1;
    for (const node of wide) {
      const right = left + size[node] * scale;
      const child = { node, parent: box.node, depth, left, right };
      found.push(child);
      ahead.push(child);
      left = right;
    }
    if (narrow * scale >= NARROWEST) {
      found.push({ node: -1, parent: box.node, depth, left, right: left + narrow * scale });
    }
  }
  return found;
}

/** Children of a node with a positive size, the widest first. */
export function bySize(tree, size, node) {
  const children = Array.from(tree.childrenOf(node)).filter((child) => size[child] > 0);
  return children.sort((a, b) => size[b] - size[a] || a - b);
}

/**
 * Where an arrow key leads from a node: to its widest child, its caller, or the next node in the same row; undefined
 * if there is none.
 */
export function stepFrom(tree, size, at, key) {
  if (key === "ArrowDown") return bySize(tree, size, at)[0];
  if (key === "ArrowUp") return tree.parent[at];
  if (at === 0 || !["ArrowLeft", "ArrowRight"].includes(key)) return undefined;
  const row = bySize(tree, size, tree.parent[at]);
  return row[row.indexOf(at) + (key === "ArrowLeft" ? -1 : 1)];
}

/** The box at a point; all rows of boxes have the same height. */
export function boxAt(found, x, y, height) {
  const depth = Math.floor(y / height);
  return found.find((box) => box.depth === depth && box.left <= x && x < box.right);
}
