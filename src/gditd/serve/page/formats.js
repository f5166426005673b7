/**
 * Numbers and labels for people.
 */

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 4, useGrouping: false });

/** @param {number} count */
export const count = (count) => whole.format(count);

/** @param {number} count @param {string} noun in the singular */
export const counted = (count, noun) => `${whole.format(count)} ${noun}${count === 1 ? "" : "s"}`;

/** A share from 0 to 1 as per cent. @param {number} share */
export function percent(share) {
  if (!Number.isFinite(share)) return "–";
  const value = 100 * share;
  if (value > 0 && value < 0.1) return "< 0.1 %";
  return `${value.toFixed(value < 10 && value % 1 !== 0 ? 1 : 0)} %`;
}

/** A measured number, short; a dash where there is none. @param {number | null | undefined} value */
export function number(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(2) : short.format(value);
}

/** A cell's value; a missing one says so, and a date goes without its midnight. @param {any} value */
export function cell(value) {
  if (value === null || value === undefined || value === "") return "missing";
  return typeof value === "number" ? number(value) : String(value).replace(/(\d)T00:00:00(\.0+)?$/, "$1");
}

/** Up to five names in quotes, and how many more there are. @param {string[]} names */
export function quoted(names) {
  const shown = names.slice(0, 5).map((name) => `"${name}"`).join(", ");
  return names.length > 5 ? `${shown} and ${names.length - 5} more` : shown;
}
