/**
 * A single case: the form, and below it the verdict, the reason and the place on the map.
 */

import { byId, make } from "./dom.js";
import { CaseForm } from "./form.js";
import { drawMap } from "./map.js";
import { verdictMark } from "./marks.js";
import { reasonList, verdictSentence } from "./reason.js";
import { OOD } from "./rows.js";

/** @typedef {import("./api.js").Verdict} Verdict */
/** @typedef {import("./api.js").Explanation} Explanation */

export class SingleCase {
  /**
   * @param {import("./api.js").Service} service
   * @param {() => {schema: import("./api.js").Schema, circles: import("./api.js").Circle[], alpha: number}} state
   */
  constructor(service, state) {
    this.service = service;
    this.state = state;
    this.form = new CaseForm();
    this.redraw = () => {};
    byId("case-form").onsubmit = (event) => {
      event.preventDefault();
      this.#judge();
    };
  }

  /** @param {import("./api.js").Schema} schema */
  start(schema) {
    this.form.start(schema);
    byId("case-result").replaceChildren();
    this.redraw = () => {};
  }

  /** Judge once more what is shown, as alpha has changed. */
  judgeAgain() {
    if (byId("case-result").hasChildNodes()) this.#judge();
  }

  async #judge() {
    const place = byId("case-result");
    const row = this.form.row();
    place.setAttribute("aria-busy", "true");
    try {
      const [verdict] = await this.service.predictRows([row], this.state().alpha);
      // A case has one row: to name it would puzzle.
      const error = verdict.error?.replace(/, row \d+/, "") ?? null;
      const explanation = error ? { known_class: "", columns: [], error } : await this.service.explain(row);
      place.replaceChildren(...this.#shown(verdict, explanation));
      this.redraw();
    } catch (problem) {
      place.replaceChildren(make("p", { class: "problem", text: problem.message }));
    } finally {
      place.removeAttribute("aria-busy");
    }
    place.scrollIntoView({ block: "nearest" });
  }

  /** @param {Verdict} verdict @param {Explanation} explanation @returns {Node[]} */
  #shown(verdict, explanation) {
    const { schema, circles, alpha } = this.state();
    const isOod = verdict.verdict === "OOD";
    const label = String(verdict.verdict);
    const code = isOod ? OOD : schema.classes.map(String).indexOf(label);
    const sentence = verdictSentence({
      isOod,
      label,
      nearest: String(verdict.known_class),
      pValue: verdict.p_value,
      alpha,
      byPValue: schema.rule !== "sign",
    });
    const heading = make("h3", {}, "Verdict: ", verdictMark({ label: () => label }, code));
    const reason = make("div", { class: "reason" }, reasonList(explanation, isOod));
    const body = make("div", { class: "dialog-body" }, reason);
    if (circles.length && Number.isFinite(verdict.x) && !explanation.error) {
      const words = `Map of the embedding: the case is nearest to the circle of class ${verdict.known_class}.`;
      const canvas = make("canvas", { class: "map", role: "img", "aria-label": words });
      body.append(make("div", {}, canvas, make("p", { class: "hint", text: "The ring marks this case." })));
      this.redraw = () => drawMap(canvas, circles, null, { x: Number(verdict.x), y: Number(verdict.y), isOod });
    } else this.redraw = () => {};
    return [heading, explanation.error ? null : make("p", { text: sentence }), body].filter((part) => part !== null);
  }
}
