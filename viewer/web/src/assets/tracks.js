// The timeline's content: tracks, one below the other. Each has a name, a height and a kind, which determines how it
// is drawn; the ruler is one of them. Values are given at each boundary (areas) or for each slice (bars).

import { amount, bytes, count, fixed, frequency } from "./format.js";
import { TEXT } from "./text.js";

/** Heights in pixels; change them here only. */
export const HEIGHTS = { live: 104, other: 32, ruler: 18 };

/** The name of the track with the times. */
export const RULER = TEXT.tracks.time;

/** Where each track begins, and their total height. */
export function laidOut(tracks) {
  let height = 0;
  const placed = tracks.map((track) => {
    const top = height;
    height += track.height;
    return { track, top };
  });
  return { placed, height };
}

/** Round numbers that divide a range into a few steps: integers, as bytes, blocks and nanoseconds are. */
export function ticks(length, most, base) {
  if (!(length > 0)) return [];
  const raw = Math.max(length / most, 1);
  const power = base ** Math.floor(Math.log(raw) / Math.log(base));
  const factors = base === 10 ? [1, 2, 5, 10] : [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
  const step = power * (factors.find((factor) => factor * power >= raw) ?? base);
  const found = [];
  for (let at = step; at < length; at += step) found.push(at);
  return found;
}

/** The tracks of a capture, from top to bottom. */
export function tracksOf(data) {
  const { columns } = data;
  const [resident, proportional, swapped] = ["resident", "proportional", "swapped"].map((kind) => columns[`slice.${kind}.bytes`]);
  const deepest = columns["slice.deepest"];
  const busy = columns["slice.processor.end"].map((time, slice) => time / Math.max(data.time(slice + 1) - data.time(slice), 1000));
  const withStart = (values) => Float64Array.from({ length: values.length + 1 }, (_, boundary) => (boundary ? values[boundary - 1] : 0));
  const unitOf = (unit) => (value) => amount(value, unit);
  const allocations = columns["slice.allocated.blocks"];
  // Slices differ in length, so their heights are rates.
  const rates = allocations.map((blocks, slice) => (blocks * 1e9) / Math.max(data.time(slice + 1) - data.time(slice), 1000));
  const inHundredths = (used) => fixed(used, 2);
  return [
    {
      name: TEXT.tracks.live,
      kind: "area",
      height: HEIGHTS.live,
      values: (unit) => withStart(columns[`slice.live.${unit}`]),
      most: (unit) => withStart(columns[`slice.most.${unit}`]),
      highest: (unit) => columns[`slice.most.${unit}`].reduce((a, b) => Math.max(a, b), 0),
      write: unitOf,
    },
    bars(TEXT.tracks.allocations, rates, frequency),
    resident.length > 0 && bars(TEXT.tracks.resident, resident, bytes, count),
    proportional.length > 0 && bars(TEXT.tracks.proportional, proportional, bytes, count),
    swapped.some((size) => size > 0) && bars(TEXT.tracks.swapped, swapped, bytes, count),
    deepest.some((frames) => frames > 0) && bars(TEXT.tracks.depth, deepest, count, count),
    busy.length > 0 && bars(TEXT.tracks.processors, busy, inHundredths, inHundredths),
    { name: RULER, kind: "ruler", height: HEIGHTS.ruler },
  ].filter(Boolean);
}

/** A track with a bar for each slice; `exact` writes its values in the table of numbers, if it is there. */
function bars(name, values, write, exact) {
  const highest = values.reduce((a, b) => Math.max(a, b), 0);
  const exactly = exact && ((slice) => exact(values[slice]));
  return { name, kind: "bars", height: HEIGHTS.other, values: () => values, highest: () => highest, write: () => write, exactly };
}
