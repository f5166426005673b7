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
  const columns = schema.columns.filter((column) => column.kind !== "constant" || given(schema, column) !== undefined);
  const plain = columns.map((column) => asText(given(schema, column) ?? typical(column)));
  const strange = columns
    .map((column, place) => ({ place, value: strangeValue(column) }))
    .filter(({ value }) => value !== null)
    .slice(0, STRANGE_ROWS)
    .map(({ place, value }) => plain.map((own, here) => (here === place ? String(value) : own)));
  return [columns.map((column) => column.name), plain, ...strange].map(csvLine).join("");
}

/** @param {Schema} schema @param {Column} column */
function given(schema, column) {
  return schema.example?.[column.name];
}

/** @param {Column} column */
function typical(column) {
  if (column.kind === "number" && column.mean !== undefined) return column.mean;
  if (column.kind === "boolean") return "false";
  return column.categories?.[0] ?? column.minimum ?? "";
}

/** A value that no training row had; null where there is none. @param {Column} column */
function strangeValue(column) {
  if (column.kind === "number" && Number.isFinite(column.minimum) && Number.isFinite(column.maximum)) {
    return Number((column.maximum + 3 * (column.maximum - column.minimum)).toPrecision(4));
  }
  return column.kind === "category" ? STRANGE_TEXT : null;
}

/** @param {any} value */
function asText(value) {
  return value === null || value === undefined ? "" : String(value);
}
