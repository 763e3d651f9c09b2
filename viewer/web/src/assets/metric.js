// Measures: what every row has of something. A row is a stack and the allocator function that it called.

const METRICS = ["peak", "leaked", "allocated", "temporary"];

/** Those at or between the cursors. */
const TIMED = ["live", "growth"];

/** The available measures: not every capture has regions or CPU samples, and several together have no times. */
export function metricsOf(data) {
  const beside = [data.regions.length && "during", data.info.cpu?.samples && "cpu", hasFrees(data.info) && "frees"];
  return [...(data.head.untimed ? [] : TIMED), ...METRICS, ...beside.filter(Boolean)];
}

/** Whether the stacks of frees were recorded. */
function hasFrees(info) {
  return info.options?.free_stacks === "true";
}

/** The meaning of a measure's numbers, which the page calls bytes and blocks. */
export function written(data, metric, unit) {
  const isSize = unit === "bytes";
  if (metric === "cpu") return isSize ? (data.info.cpu.event === "cycles" ? "cycles" : "time") : "samples";
  return unit;
}

/** The other of the two units. */
export const otherThan = (unit) => (unit === "bytes" ? "blocks" : "bytes");

/** Measures of the whole recording: each stack has them in both captures. */
const COMPARABLE = ["peak", "leaked", "allocated", "temporary", "cpu", "frees"];

/**
 * Whether a measure can be compared with the older capture: there must be one, and its numbers must mean the same.
 */
export function isComparable(data, metric) {
  const { info, before } = data;
  if (!before || !COMPARABLE.includes(metric)) return false;
  if (metric === "cpu") return before.cpu?.event === info.cpu?.event;
  return metric !== "frees" || (hasFrees(before) && hasFrees(info));
}

/** What each row had in the older capture, and has now, of a comparable measure. */
export function bothSides(data, metric, unit) {
  const { columns } = data;
  const moved = columns[`moved.${metric}.${unit}`];
  return { before: columns[`before.${metric}.${unit}`], after: columns[`row.${metric}.${unit}`].map((value, row) => value + moved[row]) };
}

/** What each row holds at a boundary. */
export function heldAt(data, boundary, unit) {
  return summed(data, 0, boundary, data.columns[`change.live.${unit}`]);
}

/** The sum of changes between two boundaries, by row. */
function summed(data, from, to, values, more) {
  const sums = new Float64Array(data.rows);
  const slices = data.columns["change.slice"];
  if (to <= from) return sums;
  for (let row = 0; row < data.rows; row++) {
    let sum = 0;
    for (let change = data.firstChange[row]; change < data.firstChange[row + 1]; change++) {
      const slice = slices[change];
      if (slice >= to) break;
      if (slice >= from) sum += more ? values[change] + more[change] : values[change];
    }
    sums[row] = sum;
  }
  return sums;
}

/**
 * What each row has: `value`, and `width`, its size in drawings, which is never negative and can be added up as well.
 * They differ only for changes, whose size is the larger of both sides. `held` returns what rows held at a boundary,
 * for callers that cache it; `against` asks for the changes since the older capture.
 */
export function measureRows(data, { metric, unit, a, b, mark, against }, held = (boundary) => heldAt(data, boundary, unit)) {
  if (against && isComparable(data, metric)) {
    const { before, after } = bothSides(data, metric, unit);
    return changed(before, after);
  }
  const { columns } = data;
  const [from, to] = [Math.min(a, b), Math.max(a, b)];
  const isWhole = from === 0 && boundaryIsLast(data, to);
  switch (metric) {
    case "growth":
      return changed(held(a), held(b));
    case "live":
      return alike(held(b));
    case "allocated":
      if (isWhole) return alike(columns[`row.allocated.${unit}`]);
      return alike(summed(data, from, to, columns[`change.live.${unit}`], columns[`change.gone.${unit}`]));
    case "temporary":
      if (isWhole) return alike(columns[`row.temporary.${unit}`]);
      return alike(summed(data, from, to, columns[`change.temporary.${unit}`]));
    case "frees":
      if (isWhole) return alike(columns[`row.frees.${unit}`]);
      return alike(summed(data, from, to, columns[`change.frees.${unit}`]));
    case "during":
      return alike(allocatedIn(data, data.head.regions[mark]?.number, columns[`during.${unit}`]));
    default:
      return alike(columns[`row.${metric}.${unit}`]);
  }
}

/** What rows have allocated in the regions with an index. */
function allocatedIn(data, region, values) {
  const sums = new Float64Array(data.rows);
  const regions = data.columns["during.region"];
  for (let row = 0; row < data.rows; row++) {
    for (let entry = data.firstDuring[row]; entry < data.firstDuring[row + 1]; entry++) if (regions[entry] === region) sums[row] += values[entry];
  }
  return sums;
}

function changed(before, after) {
  const width = after.map((value, row) => Math.max(value, before[row], 0));
  return { value: after.map((value, row) => value - before[row]), width, signed: true };
}

function alike(value) {
  return { value, width: value, signed: false };
}

/** What each node has itself, given what its rows have. */
export function byNode(data, values) {
  const own = new Float64Array(data.nodes);
  const nodes = data.columns["row.node"];
  for (let row = 0; row < data.rows; row++) own[nodes[row]] += values[row];
  return own;
}

/** The first boundary after the peak. */
export function boundaryOfPeak(data) {
  return boundaryAfter(data, data.info.totals.peak_time_ns);
}

/** The first boundary at or after a time. */
export function boundaryAfter(data, time) {
  let [low, high] = [0, data.slices];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (data.time(middle) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The last boundary at or before a time. */
export function boundaryBefore(data, time) {
  const after = boundaryAfter(data, time);
  return after > 0 && data.time(after) > time ? after - 1 : after;
}

/** The boundaries around a range: it may end within a slice, as in a link to a recording that has grown since. */
export function boundariesOf(data, { from, to }) {
  const first = boundaryAfter(data, from);
  return [first, Math.max(boundaryBefore(data, to), Math.min(first + 1, data.slices))];
}

/** The boundary nearest to a time. */
export function boundaryNear(data, time) {
  const after = boundaryAfter(data, time);
  if (after === 0) return 0;
  return data.time(after) - time < time - data.time(after - 1) ? after : after - 1;
}

/** True when nothing is allocated, temporary or freed after a boundary. */
function boundaryIsLast(data, boundary) {
  const { columns } = data;
  for (let slice = boundary; slice < data.slices; slice++) {
    if (["allocated", "temporary", "frees"].some((what) => columns[`slice.${what}.blocks`]?.[slice])) return false;
  }
  return true;
}

/** The initial position of cursor B: before the last process ends, if everything counted has happened by then. */
export function lastMoment(data) {
  for (let boundary = data.slices; boundary > 0 && boundaryIsLast(data, boundary); boundary--) {
    if (data.columns["slice.before_end"][boundary - 1]) return boundary;
  }
  return data.slices;
}
