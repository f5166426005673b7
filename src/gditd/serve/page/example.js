/**
 * Rows to try the page with: the model's example, and the same with one value made strange.
 */

import { csvLine } from "./csv.js";

/** @typedef {import("./api.js").Schema} Schema */
/** @typedef {import("./api.js").Column} Column */

const STRANGE_ROWS = 3;
const STRANGE_TEXT = "something new";

/** @param {Schema} schema @returns {string} CSV with column names */
export function exampleCsv(schema) {
  const columns = new Map(schema.columns.map((column) => [column.name, column]));
  const names = Object.keys(schema.example);
  const plain = names.map((name) => asText(schema.example[name]));
  const strange = names
    .map((name, place) => ({ place, value: strangeValue(columns.get(name)) }))
    .filter(({ value }) => value !== null)
    .slice(0, STRANGE_ROWS)
    .map(({ place, value }) => plain.map((own, here) => (here === place ? String(value) : own)));
  return [names, plain, ...strange].map(csvLine).join("");
}

/** A value that no training row had; null where there is none. @param {Column | undefined} column */
function strangeValue(column) {
  if (column === undefined) return null; // not looked at
  if (column.kind === "number" && Number.isFinite(column.minimum) && Number.isFinite(column.maximum)) {
    return Number((column.maximum + 3 * (column.maximum - column.minimum)).toPrecision(4));
  }
  return column.kind === "category" ? STRANGE_TEXT : null;
}

/** @param {any} value */
function asText(value) {
  return value === null || value === undefined ? "" : String(value);
}
