/**
 * Asks for the service's key in a dialog.
 */

import { byId } from "./dom.js";

/** @type {Promise<string | null> | null} one question for all requests that wait */
let asking = null;

/** @returns {Promise<string | null>} the key as typed in, or null when the question was put away */
export function askForKey() {
  asking ??= new Promise((resolve) => {
    const dialog = byId("key-dialog");
    const field = byId("key-field");
    field.value = "";
    dialog.returnValue = "";
    dialog.addEventListener(
      "close",
      () => {
        asking = null;
        resolve(dialog.returnValue === "use" && field.value ? field.value : null);
      },
      { once: true },
    );
    dialog.showModal();
  });
  return asking;
}
