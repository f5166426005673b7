/**
 * Cells of a text table as the values that the model's columns have.
 */

/** @typedef {import("./api.js").Column} Column */

/**
 * One row as an object with the columns that the model knows; empty cells are missing.
 * @param {(string | null)[]} names what the model calls each cell's column
 * @param {string[]} cells
 * @param {Column[]} columns
 * @returns {Record<string, any>}
 */
export function typedRow(names, cells, columns) {
  /** @type {Record<string, any>} */
  const row = {};
  for (const column of columns) {
    const place = names.indexOf(column.name);
    if (place >= 0) row[column.name] = typedCell(cells[place], column.kind);
  }
  return row;
}

/**
 * A number where the column has numbers and the text is one; else the text.
 * @param {string} text
 * @param {string} kind
 */
export function typedCell(text, kind) {
  const bare = text.trim();
  if (bare === "") return null;
  const isNumber = kind === "number" && Number.isFinite(Number(bare));
  return isNumber ? Number(bare) : text;
}
