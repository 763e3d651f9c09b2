// Colours. They never carry information alone: names, signs and numbers accompany them.

import { FOLDED, FUNCTION, PROCESS, ROOT, UNREACHABLE } from "./data.js";

/** Hues of modules, which remain distinguishable for most kinds of colour blindness in lightness steps. */
const HUES = [208, 32, 160, 268, 52, 338, 188, 96];

/** A colour of the style sheet in the present theme. */
export function themed(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** True when the page is dark now. */
export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function hash(text) {
  let value = 0;
  for (let index = 0; index < text.length; index++) value = (Math.imul(value, 31) + text.charCodeAt(index)) | 0;
  return value >>> 0;
}

/** The colour of a process, by its name: the same in lists and drawings. */
export function processColour(name, dark) {
  return `hsl(${HUES[hash(name) % HUES.length]} ${dark ? 30 : 42}% ${dark ? 34 : 76}%)`;
}

/** The colour of a label's box: one hue for each module, none for library frames and folded nodes. */
export function boxColour(described, dark) {
  const light = dark ? 27 : 84;
  const { kind, module, name, library } = described;
  if (kind === FOLDED) return dark ? "hsl(0 0% 22%)" : "hsl(0 0% 90%)";
  if (kind === FUNCTION && !library) {
    const hue = HUES[hash(module) % HUES.length];
    const step = (hash(name) % 3) * (dark ? 2.5 : -2.5);
    return `hsl(${hue} ${dark ? 34 : 52}% ${light + step}%)`;
  }
  if (kind === UNREACHABLE) return dark ? "hsl(12 55% 32%)" : "hsl(14 85% 80%)";
  if (kind === ROOT) return dark ? "hsl(215 22% 31%)" : "hsl(215 32% 85%)";
  if (kind === PROCESS) return processColour(name, dark);
  return dark ? "hsl(215 8% 25%)" : "hsl(215 10% 88%)";
}

/** Blue for shrinkage, orange for growth, the stronger the larger the share, from −1 to 1. */
export function growthColour(share, dark) {
  const strength = Math.min(Math.sqrt(Math.abs(share)), 1);
  if (strength === 0) return dark ? "hsl(0 0% 24%)" : "hsl(0 0% 92%)";
  const [hue, saturation] = share > 0 ? [22, 82] : [212, 68];
  const light = dark ? 24 + strength * 14 : 93 - strength * 23;
  return `hsl(${hue} ${Math.round(saturation * (0.35 + 0.55 * strength))}% ${light}%)`;
}
