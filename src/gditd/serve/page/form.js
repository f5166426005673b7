/**
 * A form for a single case, made from what is known of the model's columns.
 */

import { breakable, byId, make } from "./dom.js";
import * as formats from "./formats.js";

/** @typedef {import("./api.js").Schema} Schema */
/** @typedef {import("./api.js").Column} Column */
/** @typedef {{element: HTMLElement, get: () => any, set: (value: any) => void}} Field */

const SHOWN_AT_ONCE = 40; // further columns fold away

export class CaseForm {
  constructor() {
    /** @type {Map<string, Field>} */
    this.fields = new Map();
    /** @type {Record<string, any>} */
    this.example = {};
    byId("case-example").onclick = () => this.fill(this.example);
    byId("case-clear").onclick = () => this.fill({});
  }

  /** Build the form. @param {Schema} schema */
  start(schema) {
    const columns = schema.columns.filter((column) => column.kind !== "constant");
    this.example = schema.example;
    this.fields = new Map(columns.map((column, place) => [column.name, fieldFor(column, `case-${place}`)]));
    const elements = [...this.fields.values()].map((field) => field.element);
    const rest = elements.slice(SHOWN_AT_ONCE);
    const more = rest.length
      ? make("details", { class: "more" }, make("summary", { text: `${formats.counted(rest.length, "more column")}` }),
          make("div", { class: "fields" }, ...rest))
      : null;
    byId("case-fields").replaceChildren(
      make("div", { class: "fields" }, ...elements.slice(0, SHOWN_AT_ONCE)), ...(more ? [more] : []));
    byId("case-example").hidden = Object.keys(this.example).length === 0;
    this.fill(this.example);
  }

  /** @param {Record<string, any>} row */
  fill(row) {
    for (const [name, field] of this.fields) field.set(row[name] ?? null);
  }

  /** The case as it stands; what is left empty is missing. @returns {Record<string, any>} */
  row() {
    // The example first: a model without column names takes all by place, also those that have no field.
    return { ...this.example, ...Object.fromEntries([...this.fields].map(([name, field]) => [name, field.get()])) };
  }
}

/** @param {Column} column @param {string} id @returns {Field} */
function fieldFor(column, id) {
  if (column.kind === "number") return numberField(column, id);
  if (column.kind === "boolean") return booleanField(column, id);
  if (column.kind === "category") return categoryField(column, id);
  if (column.kind === "datetime") return dateField(column, id);
  return textField(column, id);
}

/**
 * A label, its control and a hint below.
 * @param {Column} column
 * @param {string} id
 * @param {string} hint
 * @param {...any} controls
 */
function labelled(column, id, hint, ...controls) {
  const about = hint ? make("span", { class: "hint", id: `${id}-hint`, text: hint }) : null;
  if (about) controls[0].setAttribute("aria-describedby", about.id);
  return make("div", { class: "field" }, make("label", { for: id }, ...breakable(column.name)), ...controls, about);
}

/** @param {Column} column @param {string} id @returns {Field} */
function numberField(column, id) {
  const input = make("input", { id, type: "text", inputmode: "decimal", autocomplete: "off" });
  const [low, high] = [column.minimum, column.maximum];
  const gaps = column.missing_allowed ? ", or missing" : "";
  const isKnown = Number.isFinite(low) && Number.isFinite(high);
  const range = isKnown ? `${formats.number(low)} to ${formats.number(high)} in training${gaps}` : "";
  return {
    element: labelled(column, id, range, input),
    // Text that is no number goes to the service, which says what is wrong with it.
    get: () => numberOrText(input.value),
    set: (value) => (input.value = value === null ? "" : String(value)),
  };
}

/** @param {string} text */
function numberOrText(text) {
  const bare = text.trim();
  if (bare === "") return null;
  return Number.isFinite(Number(bare)) ? Number(bare) : bare;
}

/** @param {Column} column @param {string} id @returns {Field} */
function booleanField(column, id) {
  const box = make("input", { id, type: "checkbox" });
  const unknown = make("input", { id: `${id}-unknown`, type: "checkbox" });
  const update = () => (box.disabled = unknown.checked);
  unknown.onchange = update;
  return {
    element: make(
      "div",
      { class: "field" },
      make("span", { class: "check" }, box, make("label", { for: id }, ...breakable(column.name))),
      make("span", { class: "check hint" }, unknown,
        make("label", { for: unknown.id }, "not known", make("span", { class: "unseen", text: `: ${column.name}` }))),
    ),
    get: () => (unknown.checked ? null : box.checked),
    set: (value) => {
      unknown.checked = value === null;
      box.checked = value === true || String(value).toLowerCase() === "true";
      update();
    },
  };
}

/** @param {Column} column @param {string} id @returns {Field} */
function categoryField(column, id) {
  const known = column.categories ?? [];
  if ((column.n_categories ?? 0) > known.length) return textField(column, id, known); // too many to list them all
  const other = make("input", { id: `${id}-other`, type: "text", "aria-label": `${column.name}, other`, hidden: true });
  const select = make(
    "select",
    { id },
    make("option", { value: "missing", text: "(missing)" }),
    ...known.map((text, place) => make("option", { value: `known-${place}`, text })),
    make("option", { value: "other", text: "other …" }),
  );
  const update = () => (other.hidden = select.value !== "other");
  select.onchange = update;
  return {
    element: labelled(column, id, "", select, other),
    get: () => {
      if (select.value === "missing") return null;
      return select.value === "other" ? other.value || null : known[Number(select.value.slice("known-".length))];
    },
    set: (value) => {
      const place = value === null ? -1 : known.indexOf(String(value));
      select.value = value === null ? "missing" : place >= 0 ? `known-${place}` : "other";
      other.value = value === null || place >= 0 ? "" : String(value);
      update();
    },
  };
}

/** @param {Column} column @param {string} id @returns {Field} */
function dateField(column, id) {
  const ends = [column.minimum, column.maximum].map(moment);
  const type = ends.every((end) => end?.startsWith("1970-01-01T")) ? "time"
    : ends.every((end) => !end || /T00:00(:00)?$/.test(end)) ? "date" : "datetime-local";
  const form = (/** @type {string} */ text) =>
    type === "date" ? text.slice(0, 10) : type === "time" ? text.slice(11, 19) : text.slice(0, 19);
  const input = make("input", { id, type, step: type === "date" ? null : 1 });
  const range = ends[0] && ends[1] ? `${form(ends[0])} to ${form(ends[1])} in training` : "";
  return {
    element: labelled(column, id, range.replaceAll("T", " "), input),
    get: () => input.value || null,
    set: (value) => {
      const text = moment(value);
      input.value = text === null ? "" : form(text);
    },
  };
}

/** A moment as 2024-01-31T12:00:00; seconds since 1970 and dates alone are completed. @param {any} value */
function moment(value) {
  if (value === null || value === undefined || value === "") return null;
  if (typeof value === "number") return new Date(1000 * value).toISOString().slice(0, 19);
  const text = String(value).replace(" ", "T");
  if (/^\d\d:\d\d/.test(text)) return `1970-01-01T${text}`;
  return text.length === 10 ? `${text}T00:00:00` : text.slice(0, 19);
}

/** @param {Column} column @param {string} id @param {string[]} [offers] @returns {Field} */
function textField(column, id, offers = []) {
  const input = make("input", { id, type: "text", autocomplete: "off", list: offers.length ? `${id}-offers` : null });
  const list = make("datalist", { id: `${id}-offers` }, ...offers.map((text) => make("option", { value: text })));
  return {
    element: labelled(column, id, "", input, list),
    get: () => input.value || null,
    set: (value) => (input.value = value === null ? "" : String(value)),
  };
}
