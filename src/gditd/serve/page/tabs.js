/**
 * Tabs by mouse and by arrow keys.
 */

/** @param {HTMLElement} list an element of role "tablist" */
export function makeTabs(list) {
  const tabs = [...list.querySelectorAll('[role="tab"]')];
  const choose = (/** @type {any} */ chosen) => {
    for (const tab of tabs) {
      const isChosen = tab === chosen;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
      document.body.classList.toggle(`shows-${tab.id}`, isChosen);
      document.getElementById(tab.getAttribute("aria-controls")).hidden = !isChosen;
    }
  };
  list.addEventListener("click", (event) => {
    const tab = /** @type {HTMLElement} */ (event.target).closest('[role="tab"]');
    if (tab) choose(tab);
  });
  list.addEventListener("keydown", (event) => {
    const here = tabs.indexOf(document.activeElement);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (here < 0 || !step) return;
    const next = tabs[(here + step + tabs.length) % tabs.length];
    choose(next);
    next.focus();
  });
}
