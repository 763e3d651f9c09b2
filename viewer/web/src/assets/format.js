// Numbers for people, as the other views write them.

const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** Most digits of a fraction that a number can have here: enough to recognize every tie. */
const ALL_DIGITS = 60;

/** A number with this many decimals. Ties round to even, as in the other views. */
export function fixed(value, digits) {
  const text = value.toFixed(digits);
  const isTie = /\.\d*$/.exec(value.toFixed(ALL_DIGITS))[0].slice(digits + 1).replace(/0+$/, "") === "5";
  const isOdd = Number(text.at(-1)) % 2 === 1;
  if (!isTie || !isOdd) return text;
  const unit = 10 ** digits;
  return ((Math.round(Number(text) * unit) - Math.sign(value)) / unit).toFixed(digits);
}

/** Decimals of a number below 1000 with three digits. */
const decimalsOf = (value) => (value < 9.995 ? 2 : value < 99.95 ? 1 : 0);

const threeDigits = (value) => fixed(value, decimalsOf(value));

const two = (value) => String(value).padStart(2, "0");

/** A number of bytes: exact below 1 KiB, else three digits and a binary unit. */
export function bytes(value) {
  const sign = value < 0 ? "-" : "";
  const size = Math.abs(value);
  if (size < 1024) return `${sign}${size} B`;
  let scaled = size / 1024;
  let unit = 0;
  while (scaled >= 1023.5 && unit + 1 < UNITS.length) {
    scaled /= 1024;
    unit += 1;
  }
  return `${sign}${threeDigits(scaled)} ${UNITS[unit]}`;
}

/** A count with its digits in groups of three. */
export function count(value) {
  const digits = String(Math.abs(value)).replace(/\B(?=(\d{3})+$)/g, ",");
  return value < 0 ? `-${digits}` : digits;
}

/** A count and its noun, in the plural unless there is exactly one. */
export function counted(value, noun) {
  const ending = value === 1 ? "" : noun.endsWith("s") ? "es" : "s";
  return `${count(value)} ${noun}${ending}`;
}

/** How often something happens, in short. */
export function frequency(rate) {
  if (rate < 1000) return `${fixed(rate, 0)}/s`;
  return rate < 1e6 ? `${fixed(rate / 1e3, 0)} k/s` : `${fixed(rate / 1e6, 1)} M/s`;
}

/**
 * A part of a whole in percent: a part that exists is never shown as 0 %, and one that is not the whole never as 100
 * %.
 */
export function percent(part, whole) {
  if (part === 0 || whole === 0) return "0 %";
  if (part === whole) return "100 %";
  const share = (part * 100) / whole;
  if (share > 0 && share < 0.1) return "<0.1 %";
  if (share > 99.9 && share < 100) return ">99.9 %";
  return `${fixed(share, 1)} %`;
}

/** A duration in nanoseconds, with the unit that fits it. */
export function duration(nanoseconds) {
  if (nanoseconds < 1000) return `${nanoseconds} ns`;
  if (nanoseconds < 999_500) return `${threeDigits(nanoseconds / 1e3)} µs`;
  if (nanoseconds < 999_500_000) return `${threeDigits(nanoseconds / 1e6)} ms`;
  if (nanoseconds < 60e9) return `${threeDigits(nanoseconds / 1e9)} s`;
  const seconds = Math.floor(nanoseconds / 1e9);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  return `${count(Math.floor(seconds / 3600))} h ${two(Math.floor(seconds / 60) % 60)} min`;
}

/** Decimals needed to distinguish numbers that are a step apart, both in the same unit. */
function digitsFor(step, unit) {
  return step < unit ? Math.min(Math.ceil(Math.log10(unit / step) - 1e-9), 9) : 0;
}

/**
 * A moment, with enough digits to tell it from one that is a step away; written as a duration where that suffices.
 */
export function moment(nanoseconds, step) {
  if (!(step > 0)) return duration(nanoseconds);
  const [unit, name] = nanoseconds < 999_500 ? [1e3, "µs"] : nanoseconds < 999_500_000 ? [1e6, "ms"] : [1e9, "s"];
  const digits = digitsFor(step, unit);
  if (nanoseconds < 60e9) {
    const value = nanoseconds / unit;
    const isTold = nanoseconds < 1000 || digits <= decimalsOf(value);
    return isTold ? duration(nanoseconds) : `${value.toFixed(digits)} ${name}`;
  }
  if (step >= (nanoseconds < 3600e9 ? 1e9 : 60e9)) return duration(nanoseconds);
  // The last digit is cut off, not rounded, so that there is no 60th second.
  const parts = Math.floor(nanoseconds / (unit / 10 ** digits));
  const [minutes, seconds] = [Math.floor(parts / (60 * 10 ** digits)), (parts % (60 * 10 ** digits)) / 10 ** digits];
  const said = `${two(minutes % 60)} min ${seconds.toFixed(digits).padStart(digits ? digits + 3 : 2, "0")} s`;
  return minutes < 60 ? said.replace(/^0/, "") : `${count(Math.floor(minutes / 60))} h ${said}`;
}

/** An amount in a unit of the page: bytes, time, or a count. */
export function amount(value, unit) {
  if (unit === "time") return value < 0 ? `-${duration(-value)}` : duration(value);
  return unit === "bytes" ? bytes(value) : count(value);
}

/** The same with its sign, for changes. */
export function signed(value, unit) {
  return value > 0 ? `+${amount(value, unit)}` : amount(value, unit);
}

/** Compares names as people do: numbers in them by value. */
export const natural = new Intl.Collator("en", { numeric: true, sensitivity: "variant" }).compare;
