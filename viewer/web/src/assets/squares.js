// The layout of a treemap: squarified, after Bruls, Huizing and van Wijk, "Squarified Treemaps" (2000).

/** The worst aspect ratio if these areas form one row along a side. */
function worst(areas, sum, side) {
  const thickness = sum / side;
  return areas.reduce((ratio, area) => {
    const length = area / thickness;
    return Math.max(ratio, thickness / length, length / thickness);
  }, 0);
}

/** Divides a rectangle in proportion to the sizes, which are positive and in descending order. */
export function squares(sizes, { x, y, width, height }) {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const found = [];
  if (!(total > 0 && width > 0 && height > 0)) return found;
  const scale = (width * height) / total;
  let row = [];
  let sum = 0;
  const place = () => {
    if (!row.length) return;
    const isWide = width >= height;
    const thickness = sum / (isWide ? height : width);
    let at = isWide ? y : x;
    for (const area of row) {
      const length = area / thickness;
      found.push(isWide ? { x, y: at, width: thickness, height: length } : { x: at, y, width: length, height: thickness });
      at += length;
    }
    if (isWide) [x, width] = [x + thickness, Math.max(width - thickness, 0)];
    else [y, height] = [y + thickness, Math.max(height - thickness, 0)];
    [row, sum] = [[], 0];
  };
  for (const size of sizes) {
    const area = size * scale;
    const side = Math.min(width, height);
    if (row.length && worst([...row, area], sum + area, side) > worst(row, sum, side)) place();
    row.push(area);
    sum += area;
  }
  place();
  return found;
}
