// Numbers and times as people read them.
import { ExactNumber } from "./exact_json.js";

const NUMBER = new Intl.NumberFormat("en");
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const number = (value) => (value === null || value === undefined ? "" : NUMBER.format(value));
export const short = (value) => SHORT.format(value);
export const count = (value, one, many = `${one}s`) => `${number(value)} ${value === 1 ? one : many}`;

export function rate(value) {
  if (value === null || value === undefined) return "";
  return value === 0 ? "0/s" : value < 10 ? `${value.toFixed(1)}/s` : `${short(value)}/s`;
}

export function bytes(value) {
  if (value < 1024) return `${value} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let unit = -1;
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024;
  return `${value.toFixed(value < 10 ? 1 : 0)} ${units[unit]}`;
}

export const seconds = (value) =>
  value === null || value === undefined ? "" : value < 1 ? `${Math.round(value * 1000)} ms` : `${value.toFixed(1)} s`;

/** A value of a record, as text. */
export function shown(value) {
  if (value === null || value === undefined) return "";
  if (value instanceof ExactNumber) return value.text;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
