/**
 * How many rows have each verdict; every count is a button that shows just those rows.
 */

import { byId, make } from "./dom.js";
import * as formats from "./formats.js";
import { verdictMark } from "./marks.js";
import { OOD } from "./rows.js";

/** @typedef {import("./rows.js").Rows} Rows */
/** @typedef {import("./view.js").Wish["only"]} Only */

/**
 * @param {Rows} rows
 * @param {Only} only what is shown now
 * @param {(only: Only) => void} choose
 */
export function showCounts(rows, only, choose) {
  const { ood, byClass } = rows.counts();
  const share = rows.length ? ood / rows.length : 0;
  byId("ood-share").textContent = `${formats.percent(share)} OOD`;
  const verb = ood === 1 ? "belongs" : "belong";
  byId("ood-words").textContent =
    `${formats.count(ood)} of ${formats.counted(rows.length, "row")} ${verb} to no known class`;
  byId("ood-bar").style.width = `${100 * share}%`;

  /** @type {[Only, Node | string, number][]} */
  const filters = [["all", "All rows", rows.length], [OOD, verdictMark(rows, OOD), ood]];
  byClass.forEach((number, code) => filters.push([code, verdictMark(rows, code), number]));
  if (rows.errors.size) filters.push(["unread", "could not be read", rows.errors.size]);
  const list = byId("filters");
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset.only : null;
  list.replaceChildren(
    ...filters.map(([key, label, number]) =>
      make(
        "button",
        {
          type: "button",
          class: "filter",
          "data-only": key,
          "aria-pressed": String(key === only),
          onclick: () => choose(key),
        },
        label,
        make("span", { class: "filter-count", text: ` ${formats.count(number)}` }),
      ),
    ),
  );
  if (focused !== null) list.querySelector(`[data-only="${focused}"]`)?.focus();
}
