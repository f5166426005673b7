/**
 * The dialog of one row: its verdict, the reason, its place on the map and all its values.
 */

import { byId, make } from "./dom.js";
import * as formats from "./formats.js";
import { drawMap } from "./map.js";
import { verdictMark } from "./marks.js";
import { reasonList, verdictSentence } from "./reason.js";
import { OOD } from "./rows.js";
import { typedRow } from "./typed.js";

/** @typedef {import("./rows.js").Rows} Rows */

export class RowDialog {
  /**
   * @param {object} page
   * @param {import("./api.js").Service} page.service
   * @param {import("./table.js").VerdictTable} page.table
   * @param {() => {rows: Rows, schema: import("./api.js").Schema, circles: import("./api.js").Circle[],
   *   alpha: number}} page.state
   */
  constructor({ service, table, state }) {
    this.service = service;
    this.table = table;
    this.state = state;
    this.dialog = byId("row-dialog");
    this.row = 0;
    this.asking = new AbortController();
    byId("row-close").onclick = () => this.dialog.close();
    byId("row-back").onclick = () => this.#step(-1);
    byId("row-on").onclick = () => this.#step(1);
    this.dialog.addEventListener("close", () => {
      this.asking.abort();
      this.table.focus(this.row);
    });
    this.dialog.addEventListener("click", (event) => {
      if (event.target === this.dialog) this.dialog.close(); // the backdrop
    });
  }

  /** @param {number} row */
  open(row) {
    if (!this.dialog.open) this.dialog.showModal();
    this.#show(row);
    this.dialog.scrollTop = 0;
  }

  /** Draw the map again, as when the colours of the page change. */
  redraw() {
    if (this.dialog.open) this.#draw();
  }

  /** @param {number} step */
  #step(step) {
    const next = this.table.neighbour(this.row, step);
    if (next !== null) this.#show(next);
  }

  /** @param {number} row */
  #show(row) {
    this.row = row;
    const { rows, alpha } = this.state();
    const isOod = rows.verdict[row] === OOD;
    byId("row-title").replaceChildren(`Row ${formats.count(row + 1)}: `, verdictMark(rows, rows.verdict[row]));
    const error = rows.errors.get(row);
    byId("row-sentence").textContent = error ? "" : verdictSentence({
      isOod,
      label: rows.label(rows.verdict[row]),
      nearest: rows.label(rows.known[row]),
      pValue: rows.pValue[row],
      alpha,
      byPValue: rows.byPValue,
    });
    byId("row-back").disabled = this.table.neighbour(row, -1) === null;
    byId("row-on").disabled = this.table.neighbour(row, 1) === null;
    byId("row-values").replaceChildren(
      ...rows.columns.map((name, place) =>
        make("div", {}, make("dt", { text: name }), make("dd", { text: rows.cells[row][place] || "missing" })),
      ),
    );
    this.#draw();
    this.#explain(row, isOod);
  }

  #draw() {
    const { rows, circles } = this.state();
    // Where a row that could not be read lies means nothing.
    const has = circles.length > 0 && !Number.isNaN(rows.x[this.row]) && !rows.errors.has(this.row);
    byId("row-map-part").hidden = !has;
    if (!has) return;
    const isOod = rows.verdict[this.row] === OOD;
    const canvas = byId("row-map");
    const verdict = isOod ? "called OOD" : `of class ${rows.label(rows.verdict[this.row])}`;
    const nearest = `nearest to the circle of class ${rows.label(rows.known[this.row])}`;
    canvas.setAttribute("aria-label", `Map of the embedding: row ${this.row + 1} is ${verdict}, ${nearest}.`);
    drawMap(canvas, circles, rows, { x: rows.x[this.row], y: rows.y[this.row], isOod });
  }

  /** @param {number} row @param {boolean} isOod */
  async #explain(row, isOod) {
    this.asking.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    const { rows, schema } = this.state();
    const place = byId("row-reason");
    const error = rows.errors.get(row);
    if (error) {
      place.removeAttribute("aria-busy");
      place.replaceChildren(reasonList({ known_class: "", columns: [], error }, isOod));
      return;
    }
    place.setAttribute("aria-busy", "true");
    try {
      const values = typedRow(rows.modelNames, rows.cells[row], schema.columns);
      const explanation = await this.service.explain(values, signal);
      if (!signal.aborted) place.replaceChildren(reasonList(explanation, isOod));
    } catch (problem) {
      if (!signal.aborted) place.replaceChildren(make("p", { class: "problem", text: problem.message }));
    } finally {
      if (!signal.aborted) place.removeAttribute("aria-busy");
    }
  }
}
