// Draws one timeline on a canvas: rows are queues, time runs to the right. Ten thousand commands are drawn anew in every frame, so
// what is outside of the picture or hidden by a neighbour is left out, and nothing is computed that the last frame knew.
import { exposed, type Trace } from './trace';

export interface Strip {
  name: string;
  time_us: number;
  trace?: Trace; // none: not one program; `bars` stand for it
  bars?: { label: string; kind: number; from: number; to: number }[];
  perfetto?: Blob;
}

export const ROW = 14;
export const TOP = 12; // the strip of exposed communication
export const LABEL = 96;
export const FILL = ['--compute', '--copy', '--wait', '--sync', '--host'];
export const ALL_RANKS = -1;

const THIN = 0.5; // pixels; narrower commands stand for their neighbours

/// Round times about 100 pixels apart.
export function ticks(from: number, to: number, pixels: number): number[] {
  const rough = ((to - from) * 100) / Math.max(1, pixels);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? rough;
  const list: number[] = [];
  for (let i = Math.ceil(from / step); i * step <= to; ++i) list.push(i * step);
  return list;
}

/// The first span of [from, to) that ends after the time.
export function firstAfter(ends: Float64Array, from: number, to: number, time: number): number {
  while (from < to) {
    const middle = (from + to) >> 1;
    if (ends[middle] > time) to = middle;
    else from = middle + 1;
  }
  return from;
}

interface Shown {
  lanes: number[]; // by row
  row: Int32Array; // by lane; -1: not shown
  exposed: [number, number][];
}

const known = new WeakMap<Trace, Map<number, Shown>>();

/// What a rank shows of the trace: its own queues and the host's. Of all ranks: everything; exposed is what rank 0 waits.
function shownOf(trace: Trace, rank: number): Shown {
  let ranks = known.get(trace);
  if (!ranks) known.set(trace, (ranks = new Map()));
  let shown = ranks.get(rank);
  if (!shown) {
    const lanes = trace.lanes.map((_, i) => i).filter((i) => rank === ALL_RANKS || trace.lanes[i].rank === rank || trace.lanes[i].rank < 0);
    const row = new Int32Array(trace.lanes.length).fill(-1);
    lanes.forEach((lane, i) => (row[lane] = i));
    ranks.set(rank, (shown = { lanes, row, exposed: exposed(trace, Math.max(rank, 0)) }));
  }
  return shown;
}

export function lanesOf(trace: Trace, rank: number): number[] {
  return shownOf(trace, rank).lanes;
}

export function heightOf(strip: Strip, rank: number): number {
  return TOP + 6 + ROW * (strip.trace ? lanesOf(strip.trace, rank).length : 2);
}

interface Frame {
  context: CanvasRenderingContext2D;
  colour: (name: string) => string;
  from: number; // us
  to: number;
  scale: number; // pixels a us
  x: (time: number) => number;
  width: number;
  height: number;
}

/// The canvas as large as the page shows it, empty, with the grid of times.
function begin(canvas: HTMLCanvasElement, [from, to]: [number, number]): Frame | undefined {
  const context = canvas.getContext('2d');
  if (!context) return undefined;
  const style = getComputedStyle(canvas);
  const ratio = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
  if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = '10px sans-serif';
  context.textBaseline = 'middle';
  const scale = (width - LABEL) / (to - from);
  const x = (time: number) => LABEL + (time - from) * scale;
  const colour = (name: string) => style.getPropertyValue(name).trim();
  context.strokeStyle = colour('--grid');
  context.lineWidth = 1;
  context.beginPath();
  for (const tick of ticks(from, to, width - LABEL)) {
    context.moveTo(Math.round(x(tick)) + 0.5, 0);
    context.lineTo(Math.round(x(tick)) + 0.5, height);
  }
  context.stroke();
  return { context, colour, from, to, scale, x, width, height };
}

function drawBars({ context, colour, scale, x }: Frame, strip: Strip): void {
  for (const bar of strip.bars ?? []) {
    context.fillStyle = colour(FILL[bar.kind]);
    context.fillRect(x(bar.from), TOP + bar.kind * ROW + 1, Math.max(1, (bar.to - bar.from) * scale), ROW - 2);
    context.fillStyle = colour('--on-bar');
    if ((bar.to - bar.from) * scale > 60) context.fillText(bar.label, x(bar.from) + 4, TOP + bar.kind * ROW + ROW / 2);
  }
}

function drawSpans({ context, colour, from, to, x }: Frame, trace: Trace, lanes: number[]): void {
  const fills = FILL.map(colour);
  let filled = -1;
  lanes.forEach((lane, row) => {
    const { from: first, to: last } = trace.lanes[lane];
    const y = TOP + row * ROW + 1;
    let drawn = -1;
    for (let i = firstAfter(trace.end, first, last, from); i < last && trace.start[i] < to; ++i) {
      const left = x(trace.start[i]);
      const right = x(trace.end[i]);
      if (right - drawn < THIN && right - left < THIN) continue;
      if (trace.kind[i] !== filled) {
        filled = trace.kind[i];
        context.fillStyle = fills[filled];
      }
      context.fillRect(left, y, Math.max(THIN, right - left), ROW - 2);
      drawn = right;
    }
  });
}

function drawArrows({ context, colour, from, to, x }: Frame, { arrows }: Trace, row: Int32Array): void {
  context.strokeStyle = colour('--arrow');
  context.lineWidth = 0.7;
  context.beginPath();
  for (let i = 0; i < arrows.length; i += 4) {
    const a = row[arrows[i]];
    const b = row[arrows[i + 2]];
    if (a < 0 || b < 0 || arrows[i + 3] < from || arrows[i + 1] > to) continue;
    context.moveTo(x(arrows[i + 1]), TOP + a * ROW + ROW / 2);
    context.lineTo(x(arrows[i + 3]), TOP + b * ROW + ROW / 2);
  }
  context.stroke();
}

export function draw(canvas: HTMLCanvasElement, strip: Strip, span: [number, number], rank: number, arrows: boolean): void {
  const frame = begin(canvas, span);
  if (!frame) return;
  const { context, colour, from, to, scale, x, width, height } = frame;
  context.save();
  context.beginPath();
  context.rect(LABEL, 0, width - LABEL, height);
  context.clip();
  if (!strip.trace) {
    drawBars(frame, strip);
    context.restore();
    return;
  }
  const { trace } = strip;
  const shown = shownOf(trace, rank);
  context.fillStyle = colour('--exposed');
  for (const [start, end] of shown.exposed) {
    if (end >= from && start <= to) context.fillRect(x(start), 2, Math.max(THIN, (end - start) * scale), TOP - 5);
  }
  drawSpans(frame, trace, shown.lanes);
  if (arrows) drawArrows(frame, trace, shown.row);
  context.restore();
  context.fillStyle = colour('--text');
  context.fillText('exposed', 2, TOP / 2);
  shown.lanes.forEach((lane, row) => context.fillText(trace.lanes[lane].name.slice(0, 17), 2, TOP + row * ROW + ROW / 2));
}
