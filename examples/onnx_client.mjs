// Verdicts from an exported model with onnxruntime-node: no Python at all.
//
//     npm install onnxruntime-node
//     node onnx_client.mjs MODEL.onnx ROWS.json [ALPHA]
//
// ROWS.json holds a list of objects. The verdicts come out as JSON.

import { readFile } from "node:fs/promises";
import * as ort from "onnxruntime-node";

const ROWS_AT_ONCE = 4096; // more only take more memory
const ARRAYS = { float32: Float32Array, float64: Float64Array, string: Array };
const OUTPUTS = ["verdict", "known_class", "p_value", "ood_score"];

const [path, rowsPath, alpha] = process.argv.slice(2);
const session = await ort.InferenceSession.create(path, { logSeverityLevel: 3 });
const asksForAlpha = session.inputNames.includes("alpha");
if (asksForAlpha !== (alpha !== undefined)) {
  // A value for an input with a default would be ignored here without a word.
  throw new Error(
    asksForAlpha ? "this model asks for an alpha: give one" : "this model has its alpha: export it with --require-alpha",
  );
}

const rows = JSON.parse(await readFile(rowsPath, "utf8"));
const verdicts = [];
for (let start = 0; start < rows.length; start += ROWS_AT_ONCE) {
  const chunk = rows.slice(start, start + ROWS_AT_ONCE);
  const found = await session.run(feeds(chunk), OUTPUTS);
  for (let row = 0; row < chunk.length; row++) {
    verdicts.push(Object.fromEntries(OUTPUTS.map((name) => [name, found[name].data[row]])));
  }
}
console.log(JSON.stringify(verdicts));

/** One tensor for each column, and alpha where the model asks for it. */
function feeds(chunk) {
  const made = {};
  for (const { name, type } of session.inputMetadata) {
    if (name === "alpha") {
      made[name] = new ort.Tensor(type, ARRAYS[type].of(Number(alpha)), []);
      continue;
    }
    const values = chunk.map((row) => (type === "string" ? text(row[name]) : number(row[name])));
    made[name] = new ort.Tensor(type, ARRAYS[type].from(values), [chunk.length, 1]);
  }
  return made;
}

/** A category; an empty text stands for a missing one. */
function text(value) {
  return value === null || value === undefined ? "" : String(value);
}

/** A number, true or false as 1 or 0, a date or moment as seconds since 1970; NaN stands for a missing one. */
function number(value) {
  if (value === null || value === undefined || value === "") return NaN;
  const plain = Number(value);
  return Number.isNaN(plain) && typeof value === "string" ? seconds(value) : plain;
}

/** Without a zone, a moment is taken as UTC. */
function seconds(moment) {
  const zoned = /(Z|[+-]\d\d:?\d\d)$/.test(moment) || !moment.includes(":") ? moment : `${moment.replace(" ", "T")}Z`;
  return Date.parse(zoned) / 1000;
}
