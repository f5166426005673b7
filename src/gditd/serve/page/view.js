/**
 * Which rows are shown, and in what order: filter, search, sort. Long tables are done in slices, so that the page
 * answers in between.
 */

import { breathe } from "./dom.js";
import { OOD } from "./rows.js";

/** @typedef {import("./rows.js").Rows} Rows */
/** @typedef {"row" | "verdict" | "known" | "p" | "score" | number} SortKey a number is a column of the table */
/** @typedef {{only: "all" | "unread" | number, search: string, sortBy: SortKey, descending: boolean}} Wish */

const SLICE = 5_000;
const COLLATED = 5_000; // beyond so many different texts, plain order: comparing by language takes too long
const collator = new Intl.Collator(undefined, { numeric: true });

/**
 * The rows that are wanted, in the order wanted; null when `isCurrent` says that nobody waits for them any more.
 * @param {Rows} rows
 * @param {Wish} wish
 * @param {() => boolean} isCurrent
 * @returns {Promise<Uint32Array | null>}
 */
export async function arrange(rows, wish, isCurrent) {
  const found = new Uint32Array(rows.length);
  const sought = wish.search.trim().toLowerCase();
  let count = 0;
  for (let start = 0; start < found.length; start += SLICE) {
    const end = Math.min(start + SLICE, found.length);
    for (let row = start; row < end; row += 1) {
      if (isKept(rows, row, wish.only) && (!sought || holds(rows, row, sought))) found[count++] = row;
    }
    if (sought) await breathe();
    if (!isCurrent()) return null;
  }
  const order = found.subarray(0, count);
  if (wish.sortBy === "row") return wish.descending ? order.reverse() : order;
  const keys = await keysOf(rows, wish.sortBy, isCurrent);
  if (!keys) return null;
  const sign = wish.descending ? -1 : 1;
  return order.sort((a, b) => compare(keys[a], keys[b], sign) || a - b);
}

/** Missing values come last in either direction. @param {number} a @param {number} b @param {number} sign */
function compare(a, b, sign) {
  if (a !== a || b !== b) return (a !== a ? 1 : 0) - (b !== b ? 1 : 0);
  return sign * (a - b);
}

/** @param {Rows} rows @param {number} row @param {Wish["only"]} only */
function isKept(rows, row, only) {
  if (only === "all") return true;
  return only === "unread" ? rows.errors.has(row) : rows.verdict[row] === only;
}

/** @param {Rows} rows @param {number} row @param {string} sought */
function holds(rows, row, sought) {
  if (rows.label(rows.verdict[row]).toLowerCase().includes(sought)) return true;
  if (rows.label(rows.known[row]).toLowerCase().includes(sought)) return true;
  return rows.cells[row].some((cell) => cell.toLowerCase().includes(sought));
}

/** A number for each row that sorts as its value does. @param {Rows} rows @param {SortKey} by */
async function keysOf(rows, by, /** @type {() => boolean} */ isCurrent) {
  if (by === "p") return rows.pValue;
  if (by === "score") return rows.score;
  if (by === "known") return ranked(rows.known.subarray(0, rows.length), rows.classes);
  if (by === "verdict") return ranked(rows.verdict.subarray(0, rows.length), rows.classes);
  return columnKeys(rows, /** @type {number} */ (by), isCurrent);
}

/** Classes in the order of their names; OOD before all. @param {Int32Array} codes @param {string[]} names */
function ranked(codes, names) {
  const ranks = rankOf([...names]);
  return Float64Array.from(codes, (code) => (code === OOD ? -1 : Number(ranks.get(names[code]))));
}

/** @param {Rows} rows @param {number} column @param {() => boolean} isCurrent */
async function columnKeys(rows, column, isCurrent) {
  const keys = new Float64Array(rows.length);
  let allNumbers = true;
  for (let row = 0; row < rows.length && allNumbers; row += 1) {
    const cell = rows.cells[row][column];
    keys[row] = cell.trim() === "" ? NaN : Number(cell);
    allNumbers = !Number.isNaN(keys[row]) || cell.trim() === "";
  }
  if (allNumbers) return keys;
  const texts = new Set();
  for (const cells of rows.cells) texts.add(cells[column]);
  await breathe();
  if (!isCurrent()) return null;
  const ranks = rankOf([...texts]);
  return Float64Array.from(rows.cells, (cells) => (cells[column] === "" ? NaN : Number(ranks.get(cells[column]))));
}

/** @param {string[]} texts @returns {Map<string, number>} */
function rankOf(texts) {
  if (texts.length <= COLLATED) texts.sort(collator.compare);
  else texts.sort();
  return new Map(texts.map((text, rank) => [text, rank]));
}
