// Deflate (RFC 1951) in plain script, for browsers without DecompressionStream.

const LENGTHS = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const DISTANCES = [
  1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289,
  16385, 24577,
];
const DISTANCE_BITS = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13];
const CODE_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const LONGEST_CODE = 15;

/** Numbers of codes by length, and the symbols in order of their codes. */
function codes(lengths) {
  const counts = new Uint16Array(LONGEST_CODE + 1);
  for (const length of lengths) counts[length] += 1;
  counts[0] = 0;
  const starts = new Uint16Array(LONGEST_CODE + 2);
  for (let length = 1; length <= LONGEST_CODE; length++) starts[length + 1] = starts[length] + counts[length];
  const symbols = new Uint16Array(lengths.length);
  lengths.forEach((length, symbol) => {
    if (length) symbols[starts[length]++] = symbol;
  });
  return { counts, symbols };
}

class Bits {
  constructor(input) {
    this.input = input;
    this.place = 0;
    this.held = 0;
    this.count = 0;
  }

  take(count) {
    while (this.count < count) {
      if (this.place >= this.input.length) throw new Error("the data ends too early");
      this.held |= this.input[this.place++] << this.count;
      this.count += 8;
    }
    const value = this.held & ((1 << count) - 1);
    this.held >>>= count;
    this.count -= count;
    return value;
  }

  symbol({ counts, symbols }) {
    let code = 0;
    let first = 0;
    let index = 0;
    for (let length = 1; length <= LONGEST_CODE; length++) {
      code |= this.take(1);
      const here = counts[length];
      if (code - here < first) return symbols[index + code - first];
      index += here;
      first = (first + here) << 1;
      code <<= 1;
    }
    throw new Error("the data has a code that does not exist");
  }
}

class Output {
  constructor() {
    this.bytes = new Uint8Array(1 << 16);
    this.length = 0;
  }

  room(count) {
    if (this.length + count <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(this.bytes.length * 2, this.length + count));
    larger.set(this.bytes);
    this.bytes = larger;
  }

  repeat(distance, count) {
    if (distance > this.length) throw new Error("the data refers to what is not there");
    this.room(count);
    for (; count > 0; count--, this.length++) this.bytes[this.length] = this.bytes[this.length - distance];
  }
}

function fixedCodes() {
  const lengths = Array.from({ length: 288 }, (_, symbol) => (symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8));
  return [codes(lengths), codes(new Array(30).fill(5))];
}

function storedCodes(bits) {
  const literals = bits.take(5) + 257;
  const distances = bits.take(5) + 1;
  const given = bits.take(4) + 4;
  const lengths = new Array(19).fill(0);
  for (let index = 0; index < given; index++) lengths[CODE_ORDER[index]] = bits.take(3);
  const code = codes(lengths);
  const all = [];
  while (all.length < literals + distances) {
    const symbol = bits.symbol(code);
    if (symbol < 16) all.push(symbol);
    else if (symbol === 16 && all.length === 0) throw new Error("the data repeats nothing");
    else if (symbol === 16) all.push(...new Array(bits.take(2) + 3).fill(all[all.length - 1]));
    else all.push(...new Array(symbol === 17 ? bits.take(3) + 3 : bits.take(7) + 11).fill(0));
  }
  return [codes(all.slice(0, literals)), codes(all.slice(literals, literals + distances))];
}

function compressed(bits, output, [literals, distances]) {
  for (;;) {
    const symbol = bits.symbol(literals);
    if (symbol === 256) return;
    if (symbol < 256) {
      output.room(1);
      output.bytes[output.length++] = symbol;
      continue;
    }
    const length = LENGTHS[symbol - 257] + bits.take(LENGTH_BITS[symbol - 257]);
    const distance = bits.symbol(distances);
    output.repeat(DISTANCES[distance] + bits.take(DISTANCE_BITS[distance]), length);
  }
}

function stored(bits, output) {
  bits.take(bits.count % 8);
  const length = bits.take(16);
  bits.take(16);
  output.room(length);
  for (let index = 0; index < length; index++) output.bytes[output.length++] = bits.take(8);
}

/** Inflates data without a header. */
export function inflate(input) {
  const bits = new Bits(input);
  const output = new Output();
  for (let last = 0; !last; ) {
    last = bits.take(1);
    const kind = bits.take(2);
    if (kind === 0) stored(bits, output);
    else if (kind === 1) compressed(bits, output, fixedCodes());
    else if (kind === 2) compressed(bits, output, storedCodes(bits));
    else throw new Error("the data has a block of no kind");
  }
  return output.bytes.subarray(0, output.length);
}
