/**
 * How a verdict looks: a shape besides the colour, so that neither eye nor printer needs colours.
 */

import { make } from "./dom.js";
import { OOD } from "./rows.js";

export const COLOURS = 6; // --class-0 to --class-5 in page.css; more classes use them again

/** @param {{label: (code: number) => string}} rows @param {number} code */
export function verdictMark(rows, code) {
  const isOod = code === OOD;
  const mark = make("span", {
    class: isOod ? "mark mark-ood" : `mark mark-class colour-${code % COLOURS}`,
    "aria-hidden": "true",
    text: isOod ? "✕" : "",
  });
  return make("span", { class: isOod ? "label label-ood" : "label" }, mark, rows.label(code));
}
