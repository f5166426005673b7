/**
 * What the model promises, in a sentence or two that say no more than holds.
 */

import { quoted } from "./formats.js";

/** @typedef {import("./api.js").Schema} Schema */

/** @param {Schema} schema @param {number} alpha */
export function promiseSentence(schema, alpha) {
  if (schema.rule === "sign") {
    return "This model goes by the sign of its score and promises nothing about false alarms.";
  }
  const proven = alpha === schema.alpha ? largestPromise(schema) : null;
  const share = `at most a share ${alpha} of new rows of each known class is called OOD by mistake`;
  if (schema.calibration === "cross" || (proven !== null && proven > alpha)) {
    const bound = proven === null ? "about twice that" : `${Number(proven.toPrecision(2))}`;
    return `The aim: ${share}; what is proven is ${bound}, as long as new rows come as the training rows did.`;
  }
  return `The promise: ${share}, as long as new rows come as the training rows did.`;
}

/**
 * What does not hold for rare classes, or null.
 * @param {Schema} schema
 * @param {number} alpha
 * @returns {string | null}
 */
export function promiseLimits(schema, alpha) {
  const promises = schema.promises ?? [];
  const limit = Math.max(0, ...promises.map((promise) => promise.smallest_alpha ?? 0));
  if (schema.rule !== "sign" && limit >= alpha) {
    const least = Number(limit.toPrecision(2));
    return `Some class has too few training rows to reject any at this alpha, so no row is OOD: go above ${least}.`;
  }
  const together = promises.filter((own) => own.calibrated_with?.length).map((own) => String(own.class));
  if (!together.length) return null;
  return `For ${quoted(together)}, which have few training rows, it holds for their rows taken together.`;
}

/** @param {Schema} schema */
function largestPromise(schema) {
  const bounds = (schema.promises ?? []).map((promise) => promise.promise).filter(Number.isFinite);
  return bounds.length ? Math.max(...bounds) : null;
}
