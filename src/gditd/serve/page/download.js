/**
 * The verdicts as a CSV file: the table's own columns and what was found, all rows or those shown.
 */

import { csvLine } from "./csv.js";
import { breathe } from "./dom.js";
import { typedCell } from "./typed.js";

/** @typedef {import("./rows.js").Rows} Rows */

const ADDED = ["verdict", "known_class", "p_value", "ood_score", "error"];
const SLICE = 5_000;

/**
 * A text that a spreadsheet would take for a formula gets an apostrophe in front; numbers stay as they are.
 * @param {string} text
 */
export function withoutFormula(text) {
  return /^[=+\-@\t\r]/.test(text) && typeof typedCell(text, "number") !== "number" ? `'${text}` : text;
}

/**
 * The file, made in slices so that the page answers meanwhile.
 * @param {Rows} rows
 * @param {Uint32Array} order
 * @returns {Promise<Blob>}
 */
export async function verdictsCsv(rows, order) {
  const added = rows.errors.size ? ADDED : ADDED.slice(0, -1);
  const own = rows.columns.map((name) => (added.includes(name) ? `${name} (given)` : name));
  const parts = ["\uFEFF", csvLine([...own, ...added].map(withoutFormula))]; // the mark makes spreadsheets read UTF-8
  for (let start = 0; start < order.length; start += SLICE) {
    const lines = Array.from(order.subarray(start, start + SLICE), (row) => csvLine(fields(rows, row)));
    parts.push(lines.join(""));
    await breathe();
  }
  return new Blob(parts, { type: "text/csv;charset=utf-8" });
}

/** @param {Rows} rows @param {number} row */
function fields(rows, row) {
  const pValue = rows.pValue[row];
  const texts = [...rows.cells[row], rows.label(rows.verdict[row]), rows.label(rows.known[row])].map(withoutFormula);
  texts.push(Number.isNaN(pValue) ? "" : String(pValue), String(rows.score[row]));
  if (rows.errors.size) texts.push(withoutFormula(rows.errors.get(row) ?? ""));
  return texts;
}

/** Hand a file to the browser to save. @param {Blob} blob @param {string} name */
export function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
