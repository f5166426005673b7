/**
 * The page: what happens when something is chosen, dropped, pasted, filtered or asked.
 */

import { AlphaControl } from "./alpha.js";
import { Service } from "./api.js";
import { SingleCase } from "./case.js";
import { showCounts } from "./counts.js";
import { RowDialog } from "./dialog.js";
import { afterPause, byId, make } from "./dom.js";
import { save, verdictsCsv } from "./download.js";
import { exampleCsv } from "./example.js";
import * as formats from "./formats.js";
import { askForKey } from "./key.js";
import { askAgain, load } from "./loader.js";
import { drawMap, drawnStep } from "./map.js";
import { promiseLimits, promiseSentence } from "./promise.js";
import { Rows } from "./rows.js";
import { takeDrops } from "./sources.js";
import { VerdictTable } from "./table.js";
import { makeTabs } from "./tabs.js";
import { arrange } from "./view.js";

const BETWEEN_REFRESHES = 700; // milliseconds, while rows come in
/** @type {import("./api.js").Schema} */
const NO_SCHEMA = { classes: [], columns: [], example: {} };

class Page {
  constructor() {
    this.service = new Service(askForKey);
    /** @type {import("./api.js").Schema} */
    this.schema = NO_SCHEMA;
    /** @type {import("./api.js").Circle[]} */
    this.circles = [];
    this.rows = new Rows([], [], [], true);
    /** @type {import("./view.js").Wish} */
    this.wish = { only: "all", search: "", sortBy: "row", descending: false };
    this.order = new Uint32Array(0);
    this.arranging = 0;
    this.fileName = "verdicts.csv";
    this.work = new AbortController(); // reading or asking again, whichever goes on
    this.isReading = false;
    /** @type {number[]} rows whose class must be asked again at the alpha in force */
    this.doubtful = [];
    this.table = new VerdictTable({ sort: (key) => this.sort(key), open: (row) => this.dialog.open(row) });
    this.alpha = new AlphaControl({ moved: () => this.decide(), settled: () => this.settle() });
    const state = () => ({ rows: this.rows, schema: this.schema, circles: this.circles, alpha: this.alpha.value });
    this.dialog = new RowDialog({ service: this.service, table: this.table, state });
    this.single = new SingleCase(this.service, state);
    this.#listen();
  }

  #listen() {
    makeTabs(document.querySelector('[role="tablist"]'));
    takeDrops((source, name) => this.read(() => source, name));
    byId("example").onclick = () => this.read(() => ({ text: exampleCsv(this.schema) }), "example", EXAMPLE_NOTE);
    byId("model").onchange = () => this.guarded(() => this.useModel(byId("model").value));
    byId("stop").onclick = () => this.work.abort();
    byId("search").oninput = afterPause(() => this.filter({ search: byId("search").value }), 200);
    byId("download-all").onclick = () => this.download(Uint32Array.from(this.rows.cells.keys()));
    byId("download-shown").onclick = () => this.download(this.order);
    byId("map-part").ontoggle = () => this.drawMaps();
    addEventListener("resize", afterPause(() => this.drawMaps(), 150));
    matchMedia("(prefers-color-scheme: dark)").onchange = () => this.drawMaps();
  }

  /** Begin: find the models and use the first. */
  async start() {
    const models = await this.service.models();
    byId("model").replaceChildren(...models.map(({ name }) => make("option", { value: name, text: name })));
    byId("model").disabled = models.length < 2;
    if (!models.length) throw new Error("The service has no model: start it with one, as in gditd serve model.gditd.");
    await this.useModel(this.service.model || models[0].name);
    byId("model").value = this.service.model;
  }

  /** @param {string} name */
  async useModel(name) {
    this.#clear();
    this.schema = NO_SCHEMA;
    this.service.model = name;
    const [schema, circles] = await Promise.all([this.service.schema(), this.service.circles()]);
    if (this.service.model !== name) return; // another one was chosen meanwhile
    [this.schema, this.circles] = [schema, circles];
    byId("model-part").hidden = byId("terms").hidden = false;
    this.alpha.start(this.schema.alpha ?? 0.05, this.schema.rule !== "sign");
    this.single.start(this.schema);
    byId("expected").replaceChildren(
      ...this.schema.columns.map(({ name: column, kind, summary }) =>
        make("li", {}, make("strong", { text: column }), ` ${kind}${summary ? `, ${summary}` : ""}`),
      ),
    );
    const { alpha } = this.schema;
    for (const caption of document.querySelectorAll(".own-alpha")) caption.textContent = alpha ? `, ${alpha}` : "";
    this.#sayPromise();
  }

  /**
   * Read a table and give verdicts.
   * @param {() => {file?: File, text?: string}} source
   * @param {string} name
   * @param {string} [note]
   */
  read(source, name, note) {
    return this.guarded(async () => {
      if (byId("panel-table").hidden) byId("tab-table").click(); // dropped on the other tab
      if (this.schema === NO_SCHEMA) await this.start(); // it failed before, for want of a key perhaps
      const { signal } = this.#clear();
      this.isReading = true;
      this.#showProgress(`Reading ${name}`, 0);
      let refreshed = -Infinity;
      try {
        await load(this.service, this.schema, source(), () => this.alpha.value, signal, {
          began: (rows, remark) => this.#begin(rows, name, [note, remark]),
          advanced: async (rows, share) => {
            this.#showProgress(`${formats.counted(rows.length, "row")} judged`, share);
            if (performance.now() - refreshed < BETWEEN_REFRESHES) return;
            refreshed = performance.now();
            await this.refresh();
          },
        });
      } finally {
        if (this.work.signal === signal) await this.#finish(signal.aborted);
      }
    });
  }

  /** @param {Rows} rows @param {string} name @param {(string | undefined)[]} remarks */
  #begin(rows, name, remarks) {
    this.rows = rows;
    this.wish = { only: "all", search: "", sortBy: "row", descending: false };
    byId("search").value = "";
    this.fileName = `${name.replace(/\.gz$/i, "").replace(/\.[a-z]+$/i, "")}-verdicts.csv`;
    const numbers = this.schema.columns.filter((column) => column.kind === "number");
    this.table.start(rows, new Set(numbers.map((column) => column.name)));
    const unused = rows.columns.filter((_, place) => rows.modelNames[place] === null);
    if (unused.length) {
      const them = unused.length === 1 ? "it" : "them";
      remarks.push(`Not used, as the model does not know ${them}: ${formats.quoted(unused)}.`);
    }
    byId("notes").replaceChildren(...remarks.filter(Boolean).map((text) => make("p", { text })));
    byId("source-name").textContent = name;
  }

  /** @param {boolean} stopped */
  async #finish(stopped) {
    this.isReading = false;
    byId("loading").hidden = true;
    if (!this.rows.length) return;
    this.doubtful = this.rows.decide(this.alpha.value); // it may have moved while rows came in
    await this.refresh();
    const { ood } = this.rows.counts();
    const total = formats.counted(this.rows.length, "row");
    say(`${stopped ? "Stopped: " : ""}${total}, ${formats.count(ood)} OOD.`);
    if (stopped) byId("notes").append(make("p", { text: `Stopped after ${total}.` }));
    if (!byId("results").contains(document.activeElement)) byId("results-heading").focus();
    this.#askAgain();
  }

  /** Apply the alpha in force to what is known already. */
  decide() {
    this.doubtful = this.rows.decide(this.alpha.value);
    this.#sayPromise();
    if (this.rows.length) this.refresh();
  }

  /** Alpha rests: ask again what it leaves in doubt. */
  settle() {
    this.single.judgeAgain();
    return this.#askAgain();
  }

  /** Ask again about the rows whose class is in doubt; while rows are still read, that waits for the end. */
  #askAgain() {
    const { doubtful } = this;
    if (!doubtful.length || this.isReading) return undefined;
    return this.guarded(async () => {
      const { signal } = this.#newWork();
      this.#showProgress(`Asking again which class ${formats.counted(doubtful.length, "row")} belong to`, null);
      const { rows } = this;
      const alpha = this.alpha.value;
      try {
        await askAgain(this.service, rows, doubtful, alpha, signal);
      } finally {
        if (this.work.signal === signal) byId("loading").hidden = true;
      }
      if (this.rows === rows) this.decide();
      say(`Alpha ${alpha}: ${formats.count(rows.counts().ood)} OOD.`);
    });
  }

  /** Show the rows that are wanted, as they are now. */
  async refresh() {
    byId("results").hidden = false;
    showCounts(this.rows, this.wish.only, (only) => this.filter({ only }));
    this.arranging += 1;
    const turn = this.arranging;
    const order = await arrange(this.rows, this.wish, () => turn === this.arranging);
    if (!order) return;
    this.order = order;
    this.table.show(order, this.wish.sortBy, this.wish.descending);
    byId("download-shown").disabled = order.length === 0;
    this.drawMaps();
  }

  /** @param {Partial<import("./view.js").Wish>} change */
  filter(change) {
    Object.assign(this.wish, change);
    this.table.page = 0;
    return this.refresh();
  }

  /** @param {import("./view.js").SortKey} key */
  sort(key) {
    const again = this.wish.sortBy === key;
    return this.filter({ sortBy: key, descending: again && !this.wish.descending });
  }

  /** @param {Uint32Array} order */
  download(order) {
    return this.guarded(async () => save(await verdictsCsv(this.rows, order), this.fileName));
  }

  drawMaps() {
    byId("map-part").hidden = !this.circles.length;
    const step = drawnStep(this.rows.length);
    byId("map-drawn").textContent = step > 1 ? ` One row in ${step} is drawn.` : "";
    if (byId("map-part").open) drawMap(byId("map"), this.circles, this.rows, null);
    this.dialog.redraw();
    this.single.redraw();
  }

  /** Do something that may fail, and say in words if it does. @param {() => Promise<any>} action */
  async guarded(action) {
    byId("problem").hidden = true;
    try {
      await action();
    } catch (error) {
      if (error.name === "AbortError") return;
      byId("problem").textContent = error.message;
      byId("problem").hidden = false;
      byId("problem").scrollIntoView({ block: "nearest" });
    }
  }

  /** Put away what is shown, for something else to come. */
  #clear() {
    this.rows = new Rows([], [], [], true);
    this.doubtful = [];
    byId("results").hidden = byId("loading").hidden = true;
    return this.#newWork();
  }

  #newWork() {
    this.work.abort();
    this.isReading = false;
    this.work = new AbortController();
    return this.work;
  }

  #sayPromise() {
    byId("promise").textContent = promiseSentence(this.schema, this.alpha.value);
    byId("alpha-limits").textContent = promiseLimits(this.schema, this.alpha.value) ?? "";
  }

  /** @param {string} words @param {number | null} share null where it is not known */
  #showProgress(words, share) {
    byId("loading").hidden = false;
    byId("progress-words").textContent = words;
    if (share === null) byId("progress").removeAttribute("value");
    else byId("progress").value = share;
  }
}

const EXAMPLE_NOTE =
  "The first row has what is usual for the largest class in each column, the others one value made strange besides. "
  + "Usual values may be unusual together: then even the first row is OOD.";

/** Tell those who listen to the page. @param {string} words */
function say(words) {
  byId("status").textContent = words;
}

const page = new Page();
page.guarded(() => page.start());
