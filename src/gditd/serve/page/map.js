/**
 * The embedding map: a circle a class, a faint dot a row, a cross an OOD row, and the chosen row in a ring.
 */

import { COLOURS } from "./marks.js";
import { OOD } from "./rows.js";

/** @typedef {import("./rows.js").Rows} Rows */
/** @typedef {import("./api.js").Circle} Circle */
/** @typedef {{x: number, y: number, isOod: boolean}} Chosen */
/** @typedef {CanvasRenderingContext2D} Pen */
/** @typedef {(name: string) => string} Colour a colour of page.css by its name */

const MOST_DOTS = 20_000; // more would cover each other, and take long to draw
const FAR = 0.6; // rows further beyond the classes than this part of their extent are drawn at the edge
const MARGIN = 22;

/**
 * Draw the map; it fills the canvas as the page lays it out.
 * @param {HTMLCanvasElement} canvas
 * @param {Circle[]} circles
 * @param {Rows | null} rows
 * @param {Chosen | null} chosen
 */
export function drawMap(canvas, circles, rows, chosen) {
  const ratio = devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (!width || !height) return;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = /** @type {Pen} */ (canvas.getContext("2d"));
  pen.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const colour = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  const place = placing(circles, rows, chosen, width, height);
  if (rows) drawRows(pen, rows, place, colour);
  circles.forEach((circle, code) => drawCircle(pen, circle, place, colour(`--class-${code % COLOURS}`), code));
  circles.forEach((circle) => drawLabel(pen, circle, place, colour, style.fontFamily, width));
  if (chosen) drawChosen(pen, chosen, place, colour);
}

/** @typedef {{at: (x: number, y: number) => [number, number], scale: number}} Placing */

/**
 * From the embedding to the picture, one scale for both axes.
 * @param {Circle[]} circles
 * @param {Rows | null} rows
 * @param {Chosen | null} chosen
 * @param {number} width
 * @param {number} height
 * @returns {Placing}
 */
function placing(circles, rows, chosen, width, height) {
  const xs = extent(circles.map(({ x, radius }) => [x - radius, x + radius]), rows?.x, rows?.length, chosen?.x);
  const ys = extent(circles.map(({ y, radius }) => [y - radius, y + radius]), rows?.y, rows?.length, chosen?.y);
  const middle = [(xs[0] + xs[1]) / 2, (ys[0] + ys[1]) / 2];
  const scale = Math.min((width - 2 * MARGIN) / (xs[1] - xs[0]), (height - 2 * MARGIN) / (ys[1] - ys[0]));
  const kept = (/** @type {number} */ value, /** @type {number} */ most) => Math.min(Math.max(value, 8), most - 8);
  return {
    scale,
    at: (x, y) => [
      kept(width / 2 + (x - middle[0]) * scale, width),
      kept(height / 2 - (y - middle[1]) * scale, height),
    ],
  };
}

/**
 * From where to where one axis goes: the classes, and rows beyond them as far as FAR allows.
 * @param {number[][]} spans
 * @param {Float32Array} [values]
 * @param {number} [count]
 * @param {number} [own]
 * @returns {[number, number]}
 */
function extent(spans, values = new Float32Array(0), count = 0, own = NaN) {
  const low = Math.min(...spans.map((span) => span[0]));
  const high = Math.max(...spans.map((span) => span[1]));
  const room = FAR * (high - low);
  let [from, to] = [low, high];
  const look = (/** @type {number} */ value) => {
    if (value < from) from = Math.max(value, low - room);
    else if (value > to) to = Math.min(value, high + room);
  };
  for (let row = 0; row < count; row += 1) look(values[row]);
  look(own);
  return [from, Math.max(to, from + 1e-9)];
}

/** One row in so many is drawn. @param {number} count of rows */
export function drawnStep(count) {
  return Math.max(1, Math.ceil(count / MOST_DOTS));
}

/** @param {Pen} pen @param {Rows} rows @param {Placing} place @param {Colour} colour */
function drawRows(pen, rows, place, colour) {
  const isFew = rows.length <= 1000;
  const half = isFew ? 2.5 : 1.5;
  const step = drawnStep(rows.length);
  const colours = Array.from({ length: COLOURS }, (_, i) => colour(`--class-${i}`));
  pen.globalAlpha = isFew ? 0.65 : 0.25;
  /** @type {[number, number][]} */
  const crosses = [];
  for (let row = 0; row < rows.length; row += step) {
    if (Number.isNaN(rows.x[row])) continue;
    const [x, y] = place.at(rows.x[row], rows.y[row]);
    if (rows.verdict[row] === OOD) crosses.push([x, y]);
    else {
      pen.fillStyle = colours[rows.verdict[row] % COLOURS];
      pen.beginPath();
      pen.arc(x, y, half, 0, 2 * Math.PI);
      pen.fill();
    }
  }
  pen.strokeStyle = colour("--ood");
  pen.globalAlpha = isFew ? 0.9 : 0.75; // in one stroke, so they do not add up where they lie on each other
  pen.lineWidth = 1.2;
  pen.beginPath();
  for (const [x, y] of crosses) cross(pen, x, y, 3.5);
  pen.stroke();
  pen.globalAlpha = 1;
}

/** @param {Pen} pen @param {number} x @param {number} y @param {number} size */
function cross(pen, x, y, size) {
  pen.moveTo(x - size, y - size);
  pen.lineTo(x + size, y + size);
  pen.moveTo(x - size, y + size);
  pen.lineTo(x + size, y - size);
}

/** @param {Pen} pen @param {Circle} circle @param {Placing} place @param {string} colour @param {number} code */
function drawCircle(pen, circle, place, colour, code) {
  const [x, y] = place.at(circle.x, circle.y);
  pen.strokeStyle = colour;
  pen.lineWidth = 2;
  pen.setLineDash(code < COLOURS ? [] : [6, 4]);
  pen.beginPath();
  pen.arc(x, y, Math.max(3, circle.radius * place.scale), 0, 2 * Math.PI);
  pen.stroke();
  pen.setLineDash([]);
}

/**
 * The class's name on top of its circle, on a halo that keeps it readable over dots.
 * @param {Pen} pen
 * @param {Circle} circle
 * @param {Placing} place
 * @param {Colour} colour
 * @param {string} family of the letters
 * @param {number} width of the picture
 */
function drawLabel(pen, circle, place, colour, family, width) {
  const [middle, centre] = place.at(circle.x, circle.y);
  const text = String(circle.label);
  const shown = text.length > 24 ? `${text.slice(0, 23)}…` : text;
  pen.font = `600 13px ${family}`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  const half = pen.measureText(shown).width / 2 + 4;
  const x = Math.min(Math.max(middle, half), width - half);
  const y = Math.max(centre - circle.radius * place.scale - 11, 11);
  pen.lineJoin = "round";
  pen.lineWidth = 4;
  pen.strokeStyle = colour("--surface");
  pen.strokeText(shown, x, y);
  pen.fillStyle = colour("--text");
  pen.fillText(shown, x, y);
}

/** @param {Pen} pen @param {Chosen} chosen @param {Placing} place @param {Colour} colour */
function drawChosen(pen, chosen, place, colour) {
  if (Number.isNaN(chosen.x)) return;
  const [x, y] = place.at(chosen.x, chosen.y);
  for (const [width, name] of /** @type {[number, string][]} */ ([[6, "--surface"], [2.5, "--text"]])) {
    pen.lineWidth = width;
    pen.strokeStyle = colour(name);
    pen.beginPath();
    pen.arc(x, y, 10, 0, 2 * Math.PI);
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      pen.moveTo(x + 10 * dx, y + 10 * dy);
      pen.lineTo(x + 17 * dx, y + 17 * dy);
    }
    pen.stroke();
  }
  pen.beginPath();
  pen.lineWidth = 2.5;
  pen.strokeStyle = pen.fillStyle = chosen.isOod ? colour("--ood") : colour("--text");
  if (chosen.isOod) {
    cross(pen, x, y, 5);
    pen.stroke();
  } else {
    pen.arc(x, y, 4, 0, 2 * Math.PI);
    pen.fill();
  }
}
