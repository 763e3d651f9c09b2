// A tree as rows of a table.

/** Children of a node, the largest first; equal ones by name. */
export function ordered(tree, node, size, compareNames) {
  const children = Array.from(tree.childrenOf(node));
  const compare = (a, b) => Math.abs(size[b]) - Math.abs(size[a]) || compareNames(tree.label[a], tree.label[b]) || a - b;
  return children.filter((child) => size[child] !== 0).sort(compare);
}

/**
 * Which nodes to open to fill `room` rows: the root, or another start node, then its children, at least one level of
 * each, then always the largest closed node, until there is no room left.
 */
export function opened(tree, size, room, root = 0) {
  const living = (node) => ordered(tree, node, size, () => 0);
  const first = living(root);
  const open = new Set([root, ...first.slice(0, room)]);
  let rows = 1 + first.length;
  let closed = [];
  const openOne = (node) => {
    const children = living(node);
    rows += children.length;
    // No more than fit are ever opened.
    closed = closed.concat(children.slice(0, room));
  };
  first.slice(0, room).forEach(openOne);
  while (closed.length) {
    const place = closed.reduce((best, node, index) => (Math.abs(size[node]) > Math.abs(size[closed[best]]) ? index : best), 0);
    const [node] = closed.splice(place, 1);
    const children = living(node);
    if (rows + children.length > room) break;
    if (children.length === 0) continue;
    open.add(node);
    openOne(node);
  }
  return open;
}

/**
 * The visible rows when these nodes are open: node, depth, and indentation. An only child is directly below its
 * parent: rows are indented only where the tree branches, so that deep stacks stay readable. They begin with the
 * root, or with another start node.
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
