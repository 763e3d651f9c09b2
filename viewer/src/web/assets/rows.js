// A tree as rows of a table.

/** Children of a node, what is largest first; those that are equal in order of their names. */
export function ordered(tree, node, size, compareNames) {
  const children = Array.from(tree.childrenOf(node));
  const compare = (a, b) => Math.abs(size[b]) - Math.abs(size[a]) || compareNames(tree.label[a], tree.label[b]) || a - b;
  return children.filter((child) => size[child] !== 0).sort(compare);
}

/** Children that are in sight, the largest first. */
function living(tree, node, size) {
  const children = Array.from(tree.childrenOf(node)).filter((child) => size[child] !== 0);
  return children.sort((a, b) => Math.abs(size[b]) - Math.abs(size[a]) || a - b);
}

/**
 * Which nodes are open when `room` rows are to be filled: the root, or another node in its place, then its children, each by one
 * level at least, then always the largest that is closed, until there is no room left.
 */
export function opened(tree, size, room, root = 0) {
  const first = living(tree, root, size);
  const open = new Set([root, ...first.slice(0, room)]);
  let rows = 1 + first.length;
  let closed = [];
  const openOne = (node) => {
    const children = living(tree, node, size);
    rows += children.length;
    // More than fit are never opened.
    closed = closed.concat(children.slice(0, room));
  };
  first.slice(0, room).forEach(openOne);
  while (closed.length) {
    const place = closed.reduce((best, node, index) => (Math.abs(size[node]) > Math.abs(size[closed[best]]) ? index : best), 0);
    const [node] = closed.splice(place, 1);
    const children = living(tree, node, size);
    if (rows + children.length > room) break;
    if (children.length === 0) continue;
    open.add(node);
    openOne(node);
  }
  return open;
}

/**
 * The rows that are seen when these nodes are open: node, depth, and how far each is moved in. An only child stands right
 * below its parent: only where the way divides do rows move on, so that deep stacks can be read. They begin with the root, or
 * with another node in its place.
 */
export function visible(open, order, root = 0) {
  const rows = [];
  const ahead = [{ node: root, depth: 0, indent: 0 }];
  while (ahead.length) {
    const row = ahead.pop();
    rows.push(row);
    if (!open.has(row.node)) continue;
    const children = order(row.node);
    const indent = row.indent + (children.length > 1 ? 1 : 0);
    for (let index = children.length - 1; index >= 0; index--) ahead.push({ node: children[index], depth: row.depth + 1, indent });
  }
  return rows;
}
