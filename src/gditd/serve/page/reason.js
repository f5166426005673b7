/**
 * Why a row is unusual: its columns with the value seen, what is usual, and a bar for the part in the reason.
 */

import { breakable, make } from "./dom.js";
import * as formats from "./formats.js";

/** @typedef {import("./api.js").Explanation} Explanation */

/**
 * The reason as a list.
 * @param {Explanation} explanation
 * @param {boolean} isOod
 * @returns {HTMLElement}
 */
export function reasonList(explanation, isOod) {
  if (explanation.error) return make("p", { class: "problem", text: sentence(explanation.error) });
  const comparedWith = String(explanation.compared_with ?? explanation.known_class);
  const intro = isOod
    ? `What sets it apart from class "${comparedWith}", most first:`
    : `It fits. What is least usual about it for class "${comparedWith}", most first:`;
  const items = explanation.columns.map((reason) => {
    const bar = make("span", { class: "share-fill" });
    bar.style.width = `${100 * Math.min(1, Math.max(0, reason.share))}%`;
    return make(
      "li",
      {},
      make(
        "div",
        { class: "reason-head" },
        make("strong", { class: "reason-column" }, ...breakable(reason.column)),
        make("span", { class: "reason-share", text: `${formats.percent(reason.share)} of the reason` }),
      ),
      make("div", { class: "share", "aria-hidden": "true" }, bar),
      make(
        "div",
        { class: "reason-values" },
        "is ",
        make("strong", { class: "reason-value", text: formats.cell(reason.value) }),
        `, usual: ${reason.usual}`,
      ),
    );
  });
  return make("div", {}, make("p", { text: intro }), make("ol", { class: isOod ? "reasons" : "reasons fits" }, ...items));
}

/**
 * A verdict in one sentence.
 * @param {{isOod: boolean, label: string, nearest: string, pValue: number | null, alpha: number, byPValue: boolean}} v
 */
export function verdictSentence({ isOod, label, nearest, pValue, alpha, byPValue }) {
  const p = formats.number(pValue);
  if (!byPValue || pValue === null || Number.isNaN(pValue)) {
    return isOod ? `It belongs to no known class; the nearest is "${nearest}".` : `It belongs to class "${label}".`;
  }
  if (isOod) {
    return "It belongs to no known class: even for the class that fits best its p-value, "
      + `${p}, is below alpha, ${alpha}. The nearest class is "${nearest}".`;
  }
  return `It belongs to class "${label}": the p-value of the class that fits best, ${p}, is not below alpha, ${alpha}.`;
}

/** @param {string} text */
function sentence(text) {
  return `It could not be read, so it is called OOD: ${text}${text.endsWith(".") ? "" : "."}`;
}
