/**
 * The service behind the page: one function a request, and errors as sentences.
 */

import { quoted } from "./formats.js";

const KEY_PLACE = "gditd-api-key"; // in sessionStorage: gone when the tab is closed

/** What went wrong, in words for people; `status` 0 means that the service was not reached. */
export class ServiceError extends Error {
  /**
   * @param {string} message
   * @param {number} status
   */
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/**
 * @typedef {{name: string, alpha?: number}} ModelEntry
 * @typedef {{name: string, kind: string, minimum?: any, maximum?: any, mean?: number, categories?: string[],
 *   n_categories?: number, missing_allowed?: boolean, summary?: string}} Column
 * @typedef {{classes: any[], alpha?: number, promises?: any[], columns: Column[], example: Record<string, any>,
 *   rule?: string, calibration?: string}} Schema
 * @typedef {{verdict: any, known_class: any, p_value: number | null, ood_score: number, x?: number, y?: number,
 *   error?: string | null}} Verdict
 * @typedef {{known_class: any, compared_with?: any, columns: {column: string, value: any, usual: string,
 *   share: number}[], error?: string | null}} Explanation
 * @typedef {{label: any, x: number, y: number, radius: number}} Circle
 */

export class Service {
  /** @param {() => Promise<string | null>} askForKey called when the service wants a key; null gives up */
  constructor(askForKey) {
    this.askForKey = askForKey;
    /** @type {string} */
    this.model = "";
  }

  /** @returns {Promise<ModelEntry[]>} */
  async models() {
    const { models } = await this.#json("v1/models", {}, false);
    return models.map((entry) => (typeof entry === "string" ? { name: entry } : entry));
  }

  /** @returns {Promise<Schema>} */
  async schema() {
    const schema = await this.#json("v1/schema");
    return { ...schema, classes: schema.classes ?? [], columns: schema.columns ?? [], example: schema.example ?? {} };
  }

  /** @returns {Promise<Circle[]>} the classes on the map; none where the model has no map */
  async circles() {
    try {
      return (await this.#json("v1/map")).circles ?? [];
    } catch (error) {
      if (error instanceof ServiceError && error.status >= 400 && error.status !== 401) return [];
      throw error;
    }
  }

  /**
   * Verdicts on a piece of CSV text with column names.
   * @param {string} csv
   * @param {number} alpha
   * @param {AbortSignal} [signal]
   * @returns {Promise<Verdict[]>}
   */
  async predictCsv(csv, alpha, signal) {
    const request = { method: "POST", headers: { "Content-Type": "text/csv" }, body: csv, signal };
    return (await this.#json(predictPath(alpha), request)).verdicts;
  }

  /**
   * Verdicts on rows as objects.
   * @param {object[]} rows
   * @param {number} alpha
   * @returns {Promise<Verdict[]>}
   */
  async predictRows(rows, alpha) {
    return (await this.#json(predictPath(alpha), posted({ rows }))).verdicts;
  }

  /**
   * Why one row is unusual.
   * @param {object} row
   * @param {AbortSignal} [signal]
   * @returns {Promise<Explanation>}
   */
  async explain(row, signal) {
    const { explanations } = await this.#json("v1/explain", { ...posted({ rows: [row] }), signal });
    return explanations[0];
  }

  /**
   * @param {string} path
   * @param {RequestInit} [request]
   * @param {boolean} [ofModel]
   */
  async #json(path, request = {}, ofModel = true) {
    const url = new URL(path, document.baseURI);
    if (ofModel && this.model) url.searchParams.set("model", this.model);
    for (;;) {
      const response = await reached(url, request);
      if (response.status === 401) {
        const key = await this.askForKey();
        if (key === null) throw new ServiceError("The service needs a key: ask who runs it, and try again.", 401);
        sessionStorage.setItem(KEY_PLACE, key);
        continue;
      }
      if (!response.ok) throw new ServiceError(await sentence(response), response.status);
      return response.json();
    }
  }
}

/** @param {number} alpha */
function predictPath(alpha) {
  return `v1/predict?alpha=${encodeURIComponent(alpha)}&map=true&on_error=ood`;
}

/** @param {object} document @returns {RequestInit} */
function posted(document) {
  return { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(document) };
}

/** @param {URL} url @param {RequestInit} request */
async function reached(url, request) {
  const key = sessionStorage.getItem(KEY_PLACE);
  const headers = { ...request.headers, ...(key ? { "X-API-Key": key } : {}) };
  try {
    return await fetch(url, { ...request, headers });
  } catch (error) {
    if (request.signal?.aborted) throw error;
    throw new ServiceError("The service does not answer: check that it is running, and try again.", 0);
  }
}

/** The service's own words, with the place where it is not in them. @param {Response} response */
async function sentence(response) {
  let error = null;
  try {
    ({ error } = await response.json());
  } catch {
    // not JSON: a proxy in between, perhaps
  }
  if (!error?.message) return `The service answered with status ${response.status}: try again, or look at its log.`;
  const place = [
    error.column && !error.message.includes(error.column) ? `column ${quoted([error.column])}` : null,
    error.row && !/\brow \d/.test(error.message) ? `row ${error.row}` : null,
  ].filter(Boolean);
  return place.length ? `${place.join(", ")}: ${error.message}` : error.message;
}
