/**
 * Making and finding elements. Whatever comes from a table or the service enters the page as text, never as markup.
 */

/**
 * The element with this id, which the page must have.
 * @param {string} id
 * @returns {any}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no element "${id}"`);
  return element;
}

/**
 * Make an element: attributes, then children; texts become text nodes, and null children are left out.
 * @param {string} tag
 * @param {Record<string, any>} [attributes] `class`, `text`, properties such as `value`, `on*` handlers, or attributes
 * @param {...(Node | string | null | undefined)} children
 * @returns {any}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "text") element.textContent = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/**
 * A name that may be broken between its words, as in claim_amount, before it is broken anywhere.
 * @param {string} name
 * @returns {(Node | string)[]}
 */
export function breakable(name) {
  return name.split(/(?<=[_./-])/).flatMap((word, place) => (place ? [make("wbr"), word] : [word]));
}

/** Let the browser draw and answer the keyboard between two pieces of long work. */
export function breathe() {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/**
 * Call `action` once the calls have paused for `wait` milliseconds.
 * @param {() => void} action
 * @param {number} wait
 */
export function afterPause(action, wait) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, wait);
  };
}
