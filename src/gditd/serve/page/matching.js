/**
 * Which column of a table is which column of the model.
 */

import { quoted } from "./formats.js";

/** @typedef {import("./api.js").Column} Column */

/**
 * For each column of the table the model's name of it, null where the model does not know it.
 * A model that learned from an array calls its columns x0, x1, ...: it takes any names, by position.
 * @param {string[]} names
 * @param {Column[]} columns
 * @returns {(string | null)[]}
 */
export function matchColumns(names, columns) {
  const absent = columns.filter(({ name, kind }) => kind !== "constant" && !names.includes(name));
  if (!absent.length) return names.map((name) => (columns.some((column) => column.name === name) ? name : null));
  const isNameless = columns.every(({ name }, place) => name === `x${place}`);
  if (isNameless && names.length === columns.length) return columns.map(({ name }) => name);
  const which = `column${absent.length === 1 ? "" : "s"} ${quoted(absent.map(({ name }) => name))}`;
  throw new Error(
    `The table lacks ${which}, which the model was trained on: `
      + "add what is missing, or check the spelling of the column names.",
  );
}
