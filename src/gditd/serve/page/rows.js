/**
 * The loaded rows with their verdicts, and what another alpha makes of them.
 *
 * A row is OOD when its p-value, the largest of all classes, is below alpha. So another alpha decides OOD without
 * asking again. The class of a row that is not OOD is its nearest class as long as that class is possible at alpha:
 * certain for every alpha up to one at which the service said so, in doubt above it. Rows in doubt are asked again.
 */

/** @typedef {import("./api.js").Verdict} Verdict */

export const OOD = -1;
const FIRST_ROOM = 1024;

export class Rows {
  /**
   * @param {string[]} columns
   * @param {(string | null)[]} modelNames what the model calls each column
   * @param {any[]} classes
   * @param {boolean} byPValue false: alpha has no say
   */
  constructor(columns, modelNames, classes, byPValue) {
    this.columns = columns;
    this.modelNames = modelNames;
    this.classes = classes.map(String);
    this.byPValue = byPValue;
    /** @type {string[][]} */
    this.cells = [];
    /** @type {Map<number, string>} rows that could not be read, and why */
    this.errors = new Map();
    this.verdict = new Int32Array(FIRST_ROOM); // at the alpha in force: a class's number, or OOD
    this.known = new Int32Array(FIRST_ROOM);
    this.pValue = new Float64Array(FIRST_ROOM);
    this.score = new Float64Array(FIRST_ROOM);
    this.x = new Float32Array(FIRST_ROOM);
    this.y = new Float32Array(FIRST_ROOM);
    this.answered = new Int32Array(FIRST_ROOM); // what the service said ...
    this.answeredAt = new Float64Array(FIRST_ROOM); // ... at this alpha
    this.certainTo = new Float64Array(FIRST_ROOM); // the largest alpha at which it named the nearest class
  }

  get length() {
    return this.cells.length;
  }

  /** Add rows with their verdicts. @param {string[][]} cells @param {Verdict[]} verdicts @param {number} alpha */
  add(cells, verdicts, alpha) {
    const start = this.length;
    this.#makeRoom(start + cells.length);
    for (const row of cells) this.cells.push(row);
    verdicts.forEach((verdict, place) => this.answer(start + place, verdict, alpha));
  }

  /** Note what the service said about a row. @param {number} row @param {Verdict} said @param {number} alpha */
  answer(row, said, alpha) {
    this.known[row] = this.#codeOf(said.known_class);
    this.answered[row] = said.verdict === "OOD" ? OOD : this.#codeOf(said.verdict);
    this.answeredAt[row] = alpha;
    if (this.answered[row] === this.known[row]) this.certainTo[row] = Math.max(this.certainTo[row], alpha);
    this.verdict[row] = this.answered[row];
    this.pValue[row] = said.p_value ?? NaN;
    this.score[row] = said.ood_score ?? NaN;
    this.x[row] = said.x ?? NaN;
    this.y[row] = said.y ?? NaN;
    // People count the rows of the whole table; the service counted those of one chunk.
    if (said.error) this.errors.set(row, said.error.replace(/\brow \d+/, `row ${row + 1}`));
  }

  /** Decide every row at alpha. @param {number} alpha @returns {number[]} rows whose class must be asked again */
  decide(alpha) {
    const doubtful = [];
    if (!this.byPValue) return doubtful;
    for (let row = 0; row < this.length; row += 1) {
      if (this.pValue[row] < alpha) this.verdict[row] = OOD;
      else if (this.answeredAt[row] === alpha || Number.isNaN(this.pValue[row])) this.verdict[row] = this.answered[row];
      else {
        if (alpha > this.certainTo[row]) doubtful.push(row);
        this.verdict[row] = this.known[row];
      }
    }
    return doubtful;
  }

  /** @param {number} code */
  label(code) {
    return code === OOD ? "OOD" : this.classes[code];
  }

  /** How many rows have each verdict. @returns {{ood: number, byClass: number[]}} */
  counts() {
    const byClass = new Array(this.classes.length).fill(0);
    let ood = 0;
    for (let row = 0; row < this.length; row += 1) {
      if (this.verdict[row] === OOD) ood += 1;
      else byClass[this.verdict[row]] += 1;
    }
    return { ood, byClass };
  }

  /** @param {any} label */
  #codeOf(label) {
    const text = String(label);
    const code = this.classes.indexOf(text);
    return code >= 0 ? code : this.classes.push(text) - 1;
  }

  /** @param {number} wanted */
  #makeRoom(wanted) {
    if (wanted <= this.verdict.length) return;
    const size = Math.max(wanted, 2 * this.verdict.length);
    for (const name of ["verdict", "known", "pValue", "score", "x", "y", "answered", "answeredAt", "certainTo"]) {
      const larger = new this[name].constructor(size);
      larger.set(this[name]);
      this[name] = larger;
    }
  }
}
