// What nodes of a tree held over time: sums of the changes of their rows, for any of a million nodes at once.
//
//   rows in order    │ 0 … 812 │ 813 … 1,490 │ 1,491 … 2,266 │ …      pieces with about as many changes each
//   sums before it   0         Σ             Σ               Σ        what all rows before a piece changed, slice by slice
//
// The rows of a node are contiguous (`RowsByNode`), so their changes are the difference of two such sums, plus the
// changes of single rows at both ends of the pieces.

/** Changes in a piece: for any node, at most twice this many are added up. */
export const PIECE = 16_000;

export class Curves {
  constructor(rowsByNode, data, unit) {
    Object.assign(this, { rowsByNode, data });
    this.values = data.columns[`change.live.${unit}`];
    this.slice = data.columns["change.slice"];
    /** Where pieces begin, and the sum of the changes before each. */
    this.begins = [0];
    this.before = [new Float64Array(data.slices)];
    this.filling = this.fill();
  }

  /** Adds up pieces, one per step. */
  *fill() {
    const { list } = this.rowsByNode.byPlace;
    const { firstChange } = this.data;
    let sum = this.before[0].slice();
    let changes = 0;
    for (let place = 0; place < list.length; place++) {
      const row = list[place];
      this.add(sum, place, place + 1);
      changes += firstChange[row + 1] - firstChange[row];
      if (changes < PIECE) continue;
      this.begins.push(place + 1);
      this.before.push(sum.slice());
      changes = 0;
      yield;
    }
  }

  /** Adds the changes of the rows in a range. */
  add(sum, from, to) {
    const { list } = this.rowsByNode.byPlace;
    const { slice, values } = this;
    const { firstChange } = this.data;
    for (let place = from; place < to; place++) {
      const row = list[place];
      for (let change = firstChange[row]; change < firstChange[row + 1]; change++) sum[slice[change]] += values[change];
    }
  }

  /** What a node and everything below it held at each boundary. */
  of(node) {
    // Pieces that have not been added up yet are added up now.
    for (const _ of this.filling);
    const [from, to] = this.rowsByNode.spanOf(node);
    const { begins, before } = this;
    const first = begins.findIndex((begin) => begin >= from);
    const last = begins.findLastIndex((begin) => begin <= to);
    const changed = new Float64Array(this.data.slices);
    if (first < 0 || first > last) this.add(changed, from, to);
    else {
      changed.forEach((_, slice) => (changed[slice] = before[last][slice] - before[first][slice]));
      this.add(changed, from, begins[first]);
      this.add(changed, begins[last], to);
    }
    return held(changed);
  }
}

/** What is held at each boundary, given the change of each slice. */
export function held(changed) {
  const sums = new Float64Array(changed.length + 1);
  for (let slice = 0; slice < changed.length; slice++) sums[slice + 1] = sums[slice] + changed[slice];
  return sums;
}
