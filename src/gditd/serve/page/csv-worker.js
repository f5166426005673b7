/**
 * Reads a file or a text as CSV away from the page's own thread and hands rows on in chunks.
 *
 * In: {file | text, expected, numbers, chunkCells} once, then "next" for each chunk wanted.
 * Out: {columns, note}, then {rows, share} and at last {done: true}; or {error} in words.
 */

import { CsvError, CsvParser, csvShape, withDecimalPoint } from "./csv.js";

const SAMPLE_CHARACTERS = 1 << 18;
const LARGEST_CHUNK = 10_000;
const SMALLEST_CHUNK = 500;

/** @type {() => void} */
let wanted = () => {};
let asked = 0;

/** Wait until the page wants a chunk, so that no more than one waits in memory. */
async function untilAsked() {
  if (asked === 0) await new Promise((resolve) => (wanted = () => resolve(undefined)));
  asked -= 1;
}

self.onmessage = async ({ data }) => {
  if (data === "next") {
    asked += 1;
    wanted();
    return;
  }
  try {
    await read(data);
    postMessage({ done: true });
  } catch (error) {
    if (!(error instanceof CsvError)) console.warn(error);
    postMessage({ error: error instanceof Error ? error.message : String(error) });
  }
};

/** @param {{file?: File, text?: string, expected: string[], numbers: string[], chunkCells: number}} job */
async function read(job) {
  const table = new Table(job.expected, job.numbers, job.chunkCells);
  for await (const { text, share } of job.file ? textOf(job.file) : [{ text: job.text ?? "", share: 1 }]) {
    table.push(text);
    await table.handOn(share);
  }
  table.end();
  await table.handOn(1, true);
}

/** Records to a header and rows that fit it. */
class Table {
  /** @param {string[]} expected the model's columns @param {string[]} numbers of numbers @param {number} chunkCells */
  constructor(expected, numbers, chunkCells) {
    this.expected = expected;
    this.numbers = new Set(numbers);
    this.chunkCells = chunkCells;
    /** @type {string[] | null} */
    this.columns = null;
    /** @type {string[]} the model's name for each column */
    this.known = [];
    /** @type {string[][]} */
    this.rows = [];
    this.sample = "";
    /** @type {CsvParser | null} */
    this.parser = null;
    this.decimalComma = false;
    this.count = 0;
  }

  /** @param {string} text */
  push(text) {
    if (this.parser) return this.parser.push(text);
    this.sample += text;
    if (this.sample.length >= SAMPLE_CHARACTERS) this.#start();
  }

  end() {
    if (!this.parser) this.#start();
    this.parser?.end();
    if (!this.columns) throw new CsvError("there is nothing to read: give a line of column names and rows");
    if (this.count === 0) throw new CsvError("there are column names and no rows: add at least one row");
  }

  /** Post what is whole; at the end also the last, smaller chunk. @param {number} share @param {boolean} [all] */
  async handOn(share, all = false) {
    if (!this.columns) return;
    const size = Math.min(LARGEST_CHUNK, Math.max(SMALLEST_CHUNK, Math.floor(this.chunkCells / this.columns.length)));
    while (this.rows.length >= size || (all && this.rows.length)) {
      const rows = this.rows.splice(0, size);
      await untilAsked();
      postMessage({ rows, share });
    }
  }

  #start() {
    const { delimiter, decimalComma } = csvShape(this.sample.slice(0, SAMPLE_CHARACTERS));
    this.decimalComma = decimalComma;
    this.parser = new CsvParser(delimiter, (fields) => this.#record(fields));
    this.parser.push(this.sample);
    this.sample = "";
  }

  /** @param {string[]} fields */
  #record(fields) {
    if (!this.columns) {
      if (!this.#isNameless(fields)) return this.#name(fields);
      this.#name(this.expected, "There is no line of column names: the columns are taken in the model's order.");
    }
    this.count += 1;
    const width = /** @type {string[]} */ (this.columns).length;
    if (fields.length !== width) {
      throw new CsvError(
        `row ${this.count}: ${fields.length} fields where the column names have ${width}: ` +
          "quote the fields that hold the delimiter, or complete the row",
      );
    }
    this.rows.push(this.decimalComma ? this.#pointed(fields) : fields);
  }

  /** A row with points in its numbers; a text such as 1,5 may be a size. @param {string[]} fields */
  #pointed(fields) {
    return fields.map((field, place) => (this.numbers.has(this.known[place]) ? withDecimalPoint(field) : field));
  }

  /** Whether a first line looks like a row: as wide as the model's table, and none of its names. */
  #isNameless(/** @type {string[]} */ fields) {
    return this.expected.length > 0 && fields.length === this.expected.length
      && !fields.some((field) => this.expected.includes(field.trim()));
  }

  /** @param {string[]} names @param {string} [note] */
  #name(names, note) {
    const columns = names.map((name) => name.trim());
    const doubled = columns.find((name, place) => columns.indexOf(name) !== place);
    if (doubled !== undefined) throw new CsvError(`there is more than one column named "${doubled}": rename them`);
    this.columns = columns;
    // A model that learned from columns without names takes them by their place, whatever they are called.
    this.known = columns.some((name) => this.expected.includes(name)) ? columns : this.expected;
    postMessage({ columns, note });
  }
}

/** A file's text piece by piece, unpacked where it is gzipped. @param {File} file */
async function* textOf(file) {
  let passed = 0;
  const counting = new TransformStream({
    transform(piece, controller) {
      passed += piece.byteLength;
      controller.enqueue(piece);
    },
  });
  let bytes = file.stream().pipeThrough(counting);
  if (/\.gz$/i.test(file.name)) bytes = bytes.pipeThrough(new DecompressionStream("gzip"));
  const reader = bytes.getReader();
  /** @type {TextDecoder | null} */
  let decoder = null;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    decoder ??= decoderFor(value);
    yield { text: decoder.decode(value, { stream: true }), share: file.size ? passed / file.size : 1 };
  }
  if (decoder) yield { text: decoder.decode(), share: 1 };
}

/**
 * UTF-16 by its mark, UTF-8 where the first piece is valid, else Windows-1252, which spreadsheets write.
 * @param {Uint8Array} first
 */
function decoderFor(first) {
  if (first[0] === 0xff && first[1] === 0xfe) return new TextDecoder("utf-16le");
  if (first[0] === 0xfe && first[1] === 0xff) return new TextDecoder("utf-16be");
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(first, { stream: true });
    return new TextDecoder("utf-8");
  } catch {
    return new TextDecoder("windows-1252");
  }
}
