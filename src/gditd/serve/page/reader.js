/**
 * The page's side of the CSV worker: chunks of rows as they are asked for.
 */

const CHUNK_CELLS = 200_000; // what one chunk may hold, so that wide tables do not stall the page
const NO_TEXT = /\.(parquet|arrow|feather|xlsx?|ods|zip)$/i;

/**
 * @typedef {{columns: string[], note?: string}} Head
 * @typedef {{rows: string[][], share: number}} Chunk
 */

/**
 * Read a file or a text; first the head, then chunks of rows.
 * @param {{file?: File, text?: string}} source
 * @param {string[]} expected the model's columns, for text without a line of names
 * @param {string[]} numbers those of them that hold numbers: only there a decimal comma becomes a point
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<Head | Chunk>}
 */
export async function* readTable(source, expected, numbers, signal) {
  if (source.file && NO_TEXT.test(source.file.name)) {
    throw new Error(
      `"${source.file.name}" is not a text table: save it as CSV and drop it here, or give it to gditd predict.`,
    );
  }
  const worker = new Worker(new URL("./csv-worker.js", import.meta.url), { type: "module" });
  try {
    const messages = queueOf(worker, signal);
    worker.postMessage({ ...source, expected, numbers, chunkCells: CHUNK_CELLS });
    worker.postMessage("next");
    for (;;) {
      const message = await messages.next();
      if (message.error) throw new Error(named(source, message.error));
      if (message.done) return;
      if (message.rows) worker.postMessage("next"); // the worker reads on while the page sends this chunk
      yield message;
    }
  } finally {
    worker.terminate();
  }
}

/** @param {{file?: File}} source @param {string} message */
function named(source, message) {
  return source.file ? `"${source.file.name}", ${message}.` : `In the pasted rows, ${message}.`;
}

/**
 * The worker's messages in order, one at a time.
 * @param {Worker} worker
 * @param {AbortSignal} signal
 */
function queueOf(worker, signal) {
  /** @type {any[]} */
  const waiting = [];
  let wake = () => {};
  const add = (/** @type {any} */ message) => {
    waiting.push(message);
    wake();
  };
  worker.onmessage = ({ data }) => add(data);
  worker.onerror = () => add({ error: "it could not be read: try again, or another browser" });
  signal.addEventListener("abort", () => add({ done: true }));
  return {
    async next() {
      if (!waiting.length) await new Promise((resolve) => (wake = () => resolve(undefined)));
      return waiting.shift();
    },
  };
}
