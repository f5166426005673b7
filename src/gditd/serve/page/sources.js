/**
 * The ways a table gets onto the page: a chosen file, a dropped file, pasted text.
 */

import { byId } from "./dom.js";

/** @param {(source: {file?: File, text?: string}, name: string) => void} take */
export function takeDrops(take) {
  const chooser = byId("file");
  const zone = byId("drop");
  const takeFile = (/** @type {File | undefined} */ file) => file && take({ file }, file.name);
  byId("choose").onclick = () => chooser.click();
  chooser.onchange = () => {
    takeFile(chooser.files[0]);
    chooser.value = ""; // so that the same file can be chosen again
  };
  byId("paste-form").onsubmit = (event) => {
    event.preventDefault();
    take({ text: byId("paste").value }, "pasted rows");
  };
  // A file dropped anywhere is meant for the page: the browser would leave it and open the file.
  addEventListener("dragover", (event) => {
    event.preventDefault();
    zone.classList.add("over");
  });
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) zone.classList.remove("over");
  });
  addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    takeFile(event.dataTransfer?.files[0]);
  });
}
