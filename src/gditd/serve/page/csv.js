/**
 * CSV text to records and back: quotes, line breaks in quotes, any of , ; tab |, decimal commas, byte order marks.
 * The delimiter is found as the command line finds it, so that both read a file alike.
 */

const DELIMITERS = [",", ";", "\t", "|"];
const SAMPLE_LINES = 100;
const LONGEST_QUOTED = 1 << 20; // a longer field is a quote that nobody closed

/** Text that is no table; the message names the row and the cure. */
export class CsvError extends Error {}

/**
 * Find the delimiter under which most lines have as many fields as the first, and whether numbers have a comma.
 * @param {string} sample
 * @returns {{delimiter: string, decimalComma: boolean}}
 */
export function csvShape(sample) {
  const bare = sample.replace(/"(?:[^"]|"")*"/g, '""'); // what stands in quotes parts nothing
  const lines = bare.split(/\r\n?|\n/).filter((line) => line.trim()).slice(0, SAMPLE_LINES);
  let delimiter = DELIMITERS[0];
  for (const mark of DELIMITERS) if (isBetter(fitness(lines, mark), fitness(lines, delimiter))) delimiter = mark;
  return { delimiter, decimalComma: delimiter !== "," && writesDecimalCommas(lines, delimiter) };
}

/** @param {string[]} lines @param {string} mark */
function fitness(lines, mark) {
  const widths = lines.map((line) => line.split(mark).length - 1);
  if (!widths[0]) return [0, 0, 0];
  return [1, widths.filter((width) => width === widths[0]).length, widths[0]];
}

/** @param {number[]} a @param {number[]} b */
function isBetter(a, b) {
  const place = a.findIndex((value, i) => value !== b[i]);
  return place >= 0 && a[place] > b[place];
}

/** @param {string[]} lines @param {string} delimiter */
function writesDecimalCommas(lines, delimiter) {
  const fields = lines.slice(1).flatMap((line) => line.split(delimiter).map((field) => field.trim()));
  const has = (/** @type {RegExp} */ form) => fields.some((field) => form.test(field));
  return has(/^[+-]?\d+,\d+$/) && !has(/^[+-]?\d+\.\d+$/);
}

/** Reads text piece by piece and hands on each record as soon as it is whole. */
export class CsvParser {
  /**
   * @param {string} delimiter
   * @param {(fields: string[]) => void} onRecord
   */
  constructor(delimiter, onRecord) {
    this.delimiter = delimiter;
    this.onRecord = onRecord;
    this.rest = "";
    this.records = 0;
    this.atStart = true;
  }

  /** @param {string} text */
  push(text) {
    if (this.atStart && text) {
      text = text.replace(/^\uFEFF/, "");
      this.atStart = false;
    }
    let block = this.rest + text;
    // Half of a \r\n may be at the end of a piece: it waits for the next one.
    const half = block.endsWith("\r") ? "\r" : "";
    if (block.includes("\r")) block = (half ? block.slice(0, -1) : block).replace(/\r\n?/g, "\n");
    this.rest = this.#records(block) + half;
  }

  /** The text is over: what waits is the last record. */
  end() {
    this.push("\n");
    if (this.rest) throw this.#unclosed();
  }

  /** Hand on the whole records of a block. @param {string} block @returns {string} what is left over */
  #records(block) {
    let start = 0;
    let quote = block.indexOf('"');
    for (;;) {
      let end = block.indexOf("\n", start);
      if (end < 0) break;
      if (quote >= 0 && quote < start) quote = block.indexOf('"', start);
      if (quote < 0 || quote > end) {
        if (end > start) this.#emit(block.slice(start, end).split(this.delimiter));
      } else {
        const record = this.#quoted(block, start);
        if (!record) break;
        this.#emit(record.fields);
        end = record.end;
      }
      start = end + 1;
    }
    if (block.length - start > LONGEST_QUOTED && quote >= start) throw this.#unclosed();
    return block.slice(start);
  }

  /** @param {string[]} fields */
  #emit(fields) {
    this.records += 1;
    this.onRecord(fields);
  }

  /**
   * One record with quotes in it; null while its end is not there yet.
   * @param {string} block
   * @param {number} place
   */
  #quoted(block, place) {
    const fields = [];
    for (;;) {
      let field = "";
      if (block[place] === '"') {
        let close = place;
        for (;;) {
          const next = block.indexOf('"', close + 1);
          if (next < 0) return null;
          field += block.slice(close + 1, next);
          close = next;
          if (block[next + 1] !== '"') break;
          field += '"';
          close += 1;
        }
        place = close + 1;
      }
      let end = place;
      while (end < block.length && block[end] !== this.delimiter && block[end] !== "\n") end += 1;
      if (end === block.length) return null;
      fields.push(field + block.slice(place, end));
      if (block[end] === "\n") return { fields, end };
      place = end + 1;
    }
  }

  #unclosed() {
    return new CsvError(`row ${Math.max(this.records, 1)}: a quote is opened and never closed: close it, or double it`);
  }
}

/**
 * All records of a text at once.
 * @param {string} text
 * @param {string} [delimiter] found by itself where not given
 * @returns {string[][]}
 */
export function parseCsv(text, delimiter = csvShape(text).delimiter) {
  /** @type {string[][]} */
  const records = [];
  const parser = new CsvParser(delimiter, (fields) => records.push(fields));
  parser.push(text);
  parser.end();
  return records;
}

/** A number with a decimal comma gets a point; anything else stays. @param {string} field */
export function withDecimalPoint(field) {
  return /^\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*$/.test(field) ? field.replace(",", ".") : field;
}

/** One field as CSV has it. @param {string} field */
export function csvField(field) {
  return /[",;|\t\r\n]/.test(field) || field !== field.trim() ? `"${field.replaceAll('"', '""')}"` : field;
}

/**
 * A record as one line of CSV. An empty line would be skipped, so a lone empty field is written as quotes.
 * @param {string[]} fields
 */
export function csvLine(fields) {
  return fields.length === 1 && fields[0] === "" ? '""\n' : `${fields.map(csvField).join(",")}\n`;
}
