/**
 * A table to verdicts: read a chunk, ask the service, keep the answer, until the end or until stopped.
 */

import { ServiceError } from "./api.js";
import { csvLine } from "./csv.js";
import { matchColumns } from "./matching.js";
import { readTable } from "./reader.js";
import { Rows } from "./rows.js";

/** @typedef {import("./api.js").Service} Service */
/** @typedef {import("./api.js").Schema} Schema */

export const MOST_ROWS = 500_000; // what a browser tab holds with ease
const ASKED_AT_ONCE = 10_000;

/**
 * @typedef {object} Watcher
 * @property {(rows: Rows, note?: string) => void} began the columns are known
 * @property {(rows: Rows, share: number) => void} advanced a chunk more is there
 */

/**
 * @param {Service} service
 * @param {Schema} schema
 * @param {{file?: File, text?: string}} source
 * @param {() => number} alpha
 * @param {AbortSignal} signal
 * @param {Watcher} watcher
 */
export async function load(service, schema, source, alpha, signal, watcher) {
  const expected = schema.columns.map((column) => column.name);
  const numbers = schema.columns.filter((column) => column.kind === "number").map((column) => column.name);
  /** @type {Rows | null} */
  let rows = null;
  for await (const message of readTable(source, expected, numbers, signal)) {
    if ("columns" in message) {
      const modelNames = matchColumns(message.columns, schema.columns);
      rows = new Rows(message.columns, modelNames, schema.classes, schema.rule !== "sign");
      watcher.began(rows, message.note);
      continue;
    }
    if (!rows || signal.aborted) return;
    const room = MOST_ROWS - rows.length;
    const cells = message.rows.length > room ? message.rows.slice(0, room) : message.rows;
    const asked = alpha();
    const verdicts = await service.predictCsv(csvOf(rows, cells), asked, signal).catch((error) => {
      if (error instanceof ServiceError) error.message = inWholeTable(error.message, rows.length);
      throw error;
    });
    rows.add(cells, verdicts, asked);
    watcher.advanced(rows, message.share);
    if (message.rows.length > room) {
      throw new Error(
        `The first ${MOST_ROWS} rows are here; a browser holds no more: give the whole file to gditd predict.`,
      );
    }
  }
}

/**
 * Ask again about some rows.
 * @param {Service} service
 * @param {Rows} rows
 * @param {number[]} places
 * @param {number} alpha
 * @param {AbortSignal} signal
 */
export async function askAgain(service, rows, places, alpha, signal) {
  for (let start = 0; start < places.length; start += ASKED_AT_ONCE) {
    const here = places.slice(start, start + ASKED_AT_ONCE);
    const csv = csvOf(rows, here.map((row) => rows.cells[row]));
    const verdicts = await service.predictCsv(csv, alpha, signal);
    here.forEach((row, place) => rows.answer(row, verdicts[place], alpha));
  }
}

/** Rows as CSV, with the columns that the model knows. @param {Rows} rows @param {string[][]} cells */
function csvOf({ modelNames }, cells) {
  const places = [...modelNames.keys()].filter((place) => modelNames[place] !== null);
  const lines = cells.map((row) => csvLine(places.map((place) => row[place])));
  return csvLine(places.map((place) => String(modelNames[place]))) + lines.join("");
}

/** A message about a chunk counts its rows; people count those of the table. */
function inWholeTable(/** @type {string} */ message, /** @type {number} */ before) {
  return message.replace(/\brow (\d+)/g, (_, row) => `row ${Number(row) + before}`);
}
