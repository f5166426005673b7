/**
 * The table of verdicts: one page of rows at a time, headers that sort, and rows that open their reason.
 */

import { byId, make } from "./dom.js";
import * as formats from "./formats.js";
import { verdictMark } from "./marks.js";

/** @typedef {import("./rows.js").Rows} Rows */
/** @typedef {import("./view.js").SortKey} SortKey */

/** @type {[SortKey, string][]} */
const FIXED = [
  ["row", "Row"],
  ["verdict", "Verdict"],
  ["known", "Nearest class"],
  ["p", "p-value"],
  ["score", "OOD score"],
];

export class VerdictTable {
  /**
   * @param {{sort: (key: SortKey) => void, open: (row: number) => void}} handlers
   */
  constructor(handlers) {
    this.handlers = handlers;
    /** @type {Rows | null} */
    this.rows = null;
    this.order = new Uint32Array(0);
    this.page = 0;
    this.table = byId("verdicts");
    this.head = byId("verdicts-head");
    this.body = byId("verdicts-body");
    byId("page-first").onclick = () => this.turnTo(0);
    byId("page-back").onclick = () => this.turnTo(this.page - 1);
    byId("page-on").onclick = () => this.turnTo(this.page + 1);
    byId("page-last").onclick = () => this.turnTo(this.pages - 1);
    byId("page-number").onchange = (event) => this.turnTo(Number(event.target.value) - 1);
    byId("page-size").onchange = () => this.turnTo(0);
    this.body.addEventListener("click", (event) => this.#clicked(event));
    this.body.addEventListener("keydown", (event) => this.#pressed(event));
  }

  get pageSize() {
    return Number(byId("page-size").value);
  }

  get pages() {
    return Math.max(1, Math.ceil(this.order.length / this.pageSize));
  }

  /** Take over a table's columns. @param {Rows} rows @param {Set<string>} numbers the columns that hold numbers */
  start(rows, numbers) {
    this.rows = rows;
    this.page = 0;
    this.order = new Uint32Array(0);
    const names = [...FIXED, ...rows.columns.map((name, place) => /** @type {[SortKey, string]} */ ([place, name]))];
    const headers = names.map(([key, name]) => {
      const button = make("button", { type: "button", class: "sort", onclick: () => this.handlers.sort(key) }, name);
      const numeric = typeof key === "number" ? numbers.has(name) : key === "p" || key === "score" || key === "row";
      return make("th", { scope: "col", "data-key": key, class: numeric ? "numeric" : null }, button);
    });
    this.head.replaceChildren(make("tr", { "aria-rowindex": 1 }, ...headers));
  }

  /** Show these rows, in this order. @param {Uint32Array} order @param {SortKey} sortBy @param {boolean} descending */
  show(order, sortBy, descending) {
    this.order = order;
    for (const header of this.head.querySelectorAll("th")) {
      const isSorted = header.dataset.key === String(sortBy);
      if (isSorted) header.setAttribute("aria-sort", descending ? "descending" : "ascending");
      else header.removeAttribute("aria-sort");
    }
    this.turnTo(Math.min(this.page, this.pages - 1));
  }

  /** @param {number} page from 0; outside the table the nearest one */
  turnTo(page) {
    this.page = Math.min(Math.max(0, Math.trunc(page) || 0), this.pages - 1);
    const start = this.page * this.pageSize;
    const shown = this.order.subarray(start, start + this.pageSize);
    this.table.setAttribute("aria-rowcount", String(this.order.length + 1));
    const focused = this.body.querySelector("button:focus")?.dataset.row;
    this.body.replaceChildren(...Array.from(shown, (row, place) => this.#line(row, start + place + 2)));
    const again = focused === undefined ? null : this.body.querySelector(`button[data-row="${focused}"]`);
    this.#rove(again ?? this.body.querySelector("button"));
    again?.focus(); // its row was drawn anew
    this.#sayPage(start, shown.length);
  }

  /** The row shown `step` places further on than `row`, over page ends. @param {number} row @param {number} step */
  neighbour(row, step) {
    const place = this.order.indexOf(row) + step;
    return this.order.includes(row) && place >= 0 && place < this.order.length ? this.order[place] : null;
  }

  /** Put the focus on a row, on whichever page it is. @param {number} row */
  focus(row) {
    const place = this.order.indexOf(row);
    if (place < 0) return byId("results-heading").focus();
    const page = Math.floor(place / this.pageSize);
    if (page !== this.page) this.turnTo(page);
    const button = this.body.querySelector(`button[data-row="${row}"]`);
    this.#rove(button);
    button?.focus();
  }

  /** @param {number} row @param {number} index */
  #line(row, index) {
    const rows = /** @type {Rows} */ (this.rows);
    const label = rows.label(rows.verdict[row]);
    const error = rows.errors.get(row);
    const button = make(
      "button",
      { type: "button", class: "row-number", "data-row": row, tabindex: -1, "aria-haspopup": "dialog" },
      String(row + 1),
      make("span", { class: "unseen", text: `: ${label}, show the reason` }),
    );
    const verdict = make("td", { class: "verdict" }, verdictMark(rows, rows.verdict[row]));
    if (error) verdict.append(make("span", { class: "unread", text: " could not be read", title: error }));
    return make(
      "tr",
      { "data-row": row, "aria-rowindex": index },
      make("th", { scope: "row" }, button),
      verdict,
      make("td", { text: rows.label(rows.known[row]) }),
      make("td", { class: "numeric", text: formats.number(rows.pValue[row]) }),
      make("td", { class: "numeric", text: formats.number(rows.score[row]) }),
      ...rows.cells[row].map((cell) => make("td", { class: isNumber(cell) ? "cell numeric" : "cell", text: cell })),
    );
  }

  /** @param {number} start @param {number} shown */
  #sayPage(start, shown) {
    const total = this.order.length;
    byId("page-range").textContent = total
      ? `${formats.count(start + 1)} to ${formats.count(start + shown)} of ${formats.counted(total, "row")}`
      : "No row fits this filter";
    byId("page-number").value = String(this.page + 1);
    byId("page-number").max = String(this.pages);
    byId("page-total").textContent = `of ${formats.count(this.pages)}`;
    for (const id of ["page-first", "page-back"]) byId(id).disabled = this.page === 0;
    for (const id of ["page-on", "page-last"]) byId(id).disabled = this.page >= this.pages - 1;
  }

  /** One row at a time can be reached with Tab; arrows move on from there. @param {HTMLElement | null} button */
  #rove(button) {
    this.body.querySelector('button[tabindex="0"]')?.setAttribute("tabindex", "-1");
    button?.setAttribute("tabindex", "0");
  }

  /** @param {MouseEvent} event */
  #clicked(event) {
    const line = /** @type {HTMLElement} */ (event.target).closest("tr");
    if (!line || String(getSelection())) return; // marking text to copy it is no click
    this.handlers.open(Number(line.dataset.row));
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    const buttons = [...this.body.querySelectorAll("button.row-number")];
    const here = buttons.indexOf(document.activeElement);
    const wanted = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (wanted === undefined || here < 0 || !buttons[wanted]) return;
    event.preventDefault();
    this.#rove(buttons[wanted]);
    buttons[wanted].focus();
  }
}

/** @param {string} cell */
function isNumber(cell) {
  return cell.trim() !== "" && Number.isFinite(Number(cell));
}
