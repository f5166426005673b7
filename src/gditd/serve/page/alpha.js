/**
 * The alpha control: a slider with logarithmic steps and a field for the exact figure.
 */

import { byId } from "./dom.js";

const LOWEST = 0.001;
const HIGHEST = 0.5;
const STEPS = 1000;

export class AlphaControl {
  /**
   * @param {{moved: (alpha: number) => void, settled: (alpha: number) => void}} handlers
   *   `moved` while it changes, `settled` when it rests
   */
  constructor(handlers) {
    this.slider = byId("alpha-slider");
    this.field = byId("alpha-field");
    this.slider.max = String(STEPS);
    this.value = 0.05;
    this.preset = 0.05;
    this.slider.oninput = () => handlers.moved(this.#take(fromStep(Number(this.slider.value)), this.slider));
    this.slider.onchange = () => handlers.settled(this.value);
    this.field.oninput = () => {
      const wanted = Number(this.field.value);
      if (wanted > 0 && wanted < 1) handlers.moved(this.#take(wanted, this.field));
    };
    this.field.onchange = () => {
      this.#show(); // what is no share between 0 and 1 gives way to the last one that was
      handlers.settled(this.value);
    };
    byId("alpha-reset").onclick = () => {
      this.set(this.preset);
      handlers.moved(this.value);
      handlers.settled(this.value);
    };
  }

  /** Start from a model's own alpha. @param {number} alpha @param {boolean} inForce */
  start(alpha, inForce) {
    this.preset = alpha;
    this.set(alpha);
    byId("alpha-reset").textContent = `Back to ${alpha}`;
    for (const element of [this.slider, this.field, byId("alpha-reset")]) element.disabled = !inForce;
  }

  /** @param {number} alpha */
  set(alpha) {
    this.value = alpha;
    this.#show();
  }

  /** @param {number} alpha @param {HTMLInputElement} from the control that moved, which is left alone */
  #take(alpha, from) {
    this.value = alpha;
    this.#show(from);
    return alpha;
  }

  /** @param {HTMLInputElement} [except] */
  #show(except) {
    if (except !== this.slider) this.slider.value = String(toStep(this.value));
    if (except !== this.field) this.field.value = String(this.value);
    this.slider.setAttribute("aria-valuetext", `alpha ${this.value}`);
  }
}

/** @param {number} step */
function fromStep(step) {
  return Number((LOWEST * (HIGHEST / LOWEST) ** (step / STEPS)).toPrecision(2));
}

/** @param {number} alpha */
function toStep(alpha) {
  return Math.round((STEPS * Math.log(alpha / LOWEST)) / Math.log(HIGHEST / LOWEST));
}
