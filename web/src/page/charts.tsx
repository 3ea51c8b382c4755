// Charts of tables, as the answer describes them: kinds of pictures over columns.
import type { PlotOptions } from '@observablehq/plot';

import { Chart, type Library } from '../chart';
import { bytes } from '../format';
import { drawn, headOf, textOf, valueOf, type Cell, type ChartOf, type Column, type TableOf } from './answer';

const MOST_BARS = 80;
const MOST_POINTS = 20_000; // of all lines of a chart, or of an area
const MOST_PLACES = 64; // along an axis of a map
const MOST_SERIES = 40;

interface Part {
  title: string;
  about: string;
  plot: (Plot: Library, width: number) => PlotOptions;
}

/// Times of one axis in the unit in which the longest is short.
const TIMES = ['us', 'ms', 's'];
const LONG = 10_000;

class Rows {
  readonly rows: Cell[][];
  private readonly columns: Column[];
  constructor(
    readonly table: TableOf,
    chart: ChartOf,
  ) {
    this.rows = table.rows;
    this.columns = [...table.columns];
    const values = [...chart.values, chart.published, chart.limit].filter((key) => key !== undefined);
    for (const axis of [values, ...chart.labels.map((label) => [label])]) this.shorten(axis);
  }
  private shorten(keys: string[]): void {
    const places = keys.map((key) => this.index(key)).filter((place) => place >= 0);
    const unit = this.columns[places[0]]?.unit;
    if (!TIMES.includes(unit) || places.some((place) => this.columns[place].unit !== unit)) return;
    let longest = 0;
    for (const row of this.rows) for (const place of places) longest = Math.max(longest, Math.abs(drawn(row[place], this.columns[place]) ?? 0));
    let step = TIMES.indexOf(unit);
    for (; longest >= LONG && step + 1 < TIMES.length; ++step) longest /= 1000;
    if (TIMES[step] === unit) return;
    const scale = 1000 ** (TIMES.indexOf(unit) - step);
    for (const place of places) {
      const column = this.columns[place];
      this.columns[place] = { ...column, unit: TIMES[step], scale: (column.scale ?? 1) * scale, whole: false, digits: 4, notation: 'significant' };
    }
  }
  index(key: string): number {
    return this.table.columns.findIndex((column) => column.key === key);
  }
  column(key: string): Column {
    return this.columns[this.index(key)];
  }
  text(row: Cell[], key: string): string {
    return textOf(row[this.index(key)], this.column(key));
  }
  number(row: Cell[], key: string): number | undefined {
    return drawn(row[this.index(key)], this.column(key));
  }
  /// The texts of several columns together. "yes" and "no" say nothing without their column.
  label(row: Cell[], keys: string[]): string {
    const parts = keys.map((key) => {
      const value = valueOf(row[this.index(key)]);
      if (typeof value === 'boolean') return value ? headOf(this.column(key)) : '';
      return this.text(row, key);
    });
    return parts.filter(Boolean).join(' ');
  }
}

const short = (value: number) => value.toLocaleString('en', { maximumSignificantDigits: 4 });

/// Room for labels at the left: as much as the longest needs, and no more than two fifths.
function margin(labels: string[], width: number): { marginLeft: number; cut: (label: string) => string } {
  const longest = Math.max(0, ...labels.map((label) => label.length));
  const most = Math.max(8, Math.floor((0.4 * width) / 6.6));
  return { marginLeft: Math.min(longest, most) * 6.6 + 14, cut: (label) => (label.length > most ? `${label.slice(0, most - 1)}…` : label) };
}

/// Room for the numbers of an axis at the left and, beyond them, its title.
function besideAxis(values: number[]): { marginLeft: number; labelOffset: number } {
  const longest = Math.max(...[0, ...values].map((value) => short(Math.round(value)).length));
  const numbers = 7 * Math.max(3, longest) + 12;
  return { marginLeft: numbers + 22, labelOffset: numbers + 16 };
}

/// Names that differ, in the order of the rows.
function distinct(labels: string[]): string[] {
  const seen = new Map<string, number>();
  return labels.map((label) => {
    const count = (seen.get(label) ?? 0) + 1;
    seen.set(label, count);
    return count === 1 ? label : `${label} (${count})`;
  });
}

function bars(of: Rows, chart: ChartOf): Part[] {
  const rows = of.rows.filter((row) => chart.values.some((key) => of.number(row, key) !== undefined));
  const shown = rows.slice(0, MOST_BARS);
  const names = distinct(shown.map((row) => of.label(row, chart.labels)));
  const beside = chart.kind === 'beside';
  const heads = chart.values.map((key) => of.column(key).head || key);
  const values = shown.flatMap((row, i) =>
    chart.values.map((key, j) => ({
      name: names[i],
      part: heads[j],
      value: of.number(row, key) ?? 0,
      tip: `${names[i]}\n${chart.values.map((one, k) => `${heads[k]}: ${of.text(row, one)} ${of.column(one).unit}`).join('\n')}`,
    })),
  );
  const most = chart.most ?? Infinity;
  const ends = shown.map((row, i) => {
    const parts = chart.values.map((key) => of.number(row, key) ?? 0);
    const total = parts.filter((part) => part > 0).reduce((sum, part) => sum + part, 0);
    const text = chart.values.length === 1 ? of.text(row, chart.values[0]) : short(parts.reduce((sum, part) => sum + part, 0));
    const use = chart.marked !== undefined && of.label(row, chart.labels) === chart.marked;
    return { name: names[i], value: Math.min(total, most), text: `${text}${total > most ? ' →' : ''}${use ? ' ◀ use' : ''}`, cut: total > most, use };
  });
  const unit = of.column(chart.values[0]).unit;
  const head = chart.values.length === 1 ? headOf(of.column(chart.values[0])) : unit;
  const least = Math.min(0, ...shown.map((row) => chart.values.map((key) => of.number(row, key) ?? 0).filter((part) => part < 0).reduce((sum, part) => sum + part, 0)));
  const notes = [chart.about];
  if (ends.some((end) => end.cut)) notes.push(`Bars beyond ${short(most)} ${unit} are cut off.`);
  if (rows.length > shown.length) notes.push(`The first ${shown.length} of ${rows.length} rows.`);
  return [
    {
      title: chart.title,
      about: notes.filter(Boolean).join(' '),
      plot: (Plot, width) => {
        const { marginLeft, cut } = margin(names, width);
        const colour = { legend: chart.values.length > 1, domain: heads };
        const x = { label: head, grid: true, domain: [least, Math.max(...ends.map((end) => end.value), ...(beside ? values.map((one) => one.value) : []))], clamp: true };
        if (beside) {
          return {
            height: 60 + names.length * (14 * heads.length + 8),
            marginLeft,
            x: { ...x, domain: [Math.min(1, ...values.map((one) => one.value)) * 0.98, Math.max(...values.map((one) => one.value)) * 1.02] },
            fy: { label: null, domain: names, axis: null },
            y: { axis: null, domain: heads },
            color: colour,
            marks: [
              Plot.ruleX([1]),
              Plot.barX(values, { x1: 1, x2: 'value', y: 'part', fy: 'name', fill: 'part', title: 'tip', tip: { fontSize: 12 } }),
              Plot.text(names, { fy: (name: string) => name, text: cut, frameAnchor: 'left', dx: -8, textAnchor: 'end' }),
            ],
          };
        }
        return {
          height: 60 + 24 * names.length,
          marginLeft,
          marginRight: chart.marked === undefined ? 70 : 110,
          x,
          y: { label: null, domain: names, tickFormat: cut, tickSize: 0 },
          color: colour,
          marks: [
            Plot.barX(values, { x: 'value', y: 'name', fill: 'part', title: 'tip', tip: { fontSize: 12 }, insetTop: 2, insetBottom: 2 }),
            Plot.text(ends, { x: 'value', y: 'name', text: 'text', textAnchor: 'start', dx: 5, filter: (end) => !end.use }),
            Plot.text(ends, { x: 'value', y: 'name', text: 'text', textAnchor: 'start', dx: 5, fontWeight: 'bold', filter: (end) => end.use }),
            Plot.ruleX([0]),
          ],
        };
      },
    },
  ];
}

/// Numbers as they are, logarithmic where they reach far; words one beside the other.
function axisOf(of: Rows, key: string, rows: Cell[][]): { at: (row: Cell[]) => number | string; options: (width: number) => object } {
  const column = of.column(key);
  const numbers = rows.map((row) => of.number(row, key));
  const texts = new Map(rows.map((row, i) => [numbers[i] as number, of.text(row, key)]));
  if (numbers.some((one) => one === undefined)) {
    const words = [...new Set(rows.map((row) => of.text(row, key)))];
    return { at: (row) => of.text(row, key), options: (width) => ({ type: 'point', domain: words, label: headOf(column), tickRotate: words.join('').length * 7 > width ? -35 : 0 }) };
  }
  const all = numbers as number[];
  const far = Math.min(...all) > 0 && Math.max(...all) >= 50 * Math.min(...all);
  const options = (width: number) => {
    const room = Math.floor(width / 75);
    const few = texts.size <= Math.min(8, room);
    return {
      label: column.unit === 'B' ? column.head : headOf(column),
      grid: true,
      ...(far ? { type: 'log', base: 2 } : {}),
      ticks: few ? [...texts.keys()] : Math.min(8, room),
      tickFormat: (value: number) => (column.unit === 'B' ? bytes(value) : ((few || far) && texts.get(value)) || short(value)),
    };
  };
  return { at: (row) => of.number(row, key) as number, options };
}

function lines(of: Rows, chart: ChartOf): Part[] {
  const key = chart.values[0];
  const [place] = chart.labels;
  const rows = of.rows.filter((row) => of.number(row, key) !== undefined && valueOf(row[of.index(place)]) !== null);
  const axis = axisOf(of, place, rows);
  // What is the same in all rows tells no line from another.
  const told = chart.series.filter((name) => rows.some((row) => of.text(row, name) !== of.text(rows[0], name)));
  const points = rows.map((row) => ({
    x: axis.at(row),
    y: of.number(row, key) as number,
    published: chart.published ? of.number(row, chart.published) : undefined,
    series: of.label(row, told) || of.column(key).head,
    tip: `${of.label(row, [...told, place])}\n${of.column(key).head || key}: ${of.text(row, key)} ${of.column(key).unit}${
      chart.published ? `\npublished: ${of.text(row, chart.published)} ${of.column(key).unit}` : ''
    }`,
  }));
  const names = [...new Set(points.map((point) => point.series))];
  if (points.length === 0) return [];
  if (points.length > MOST_POINTS || names.length > MOST_SERIES) return [leftOut(chart, `${points.length} points in ${names.length} lines`)];
  const rings = points.filter((point) => point.published !== undefined);
  const alone = points.length === names.length; // no lines: one point each
  const nothing = points.every((point) => point.y === 0 && !point.published);
  const { marginLeft, labelOffset } = besideAxis(points.map((point) => Math.max(point.y, point.published ?? 0)));
  return [
    {
      title: chart.title,
      about: chart.about,
      plot: (Plot, width) => ({
        height: Math.min(380, Math.max(240, width * 0.6)),
        marginLeft,
        marginRight: 24,
        x: axis.options(width),
        y: { label: headOf(of.column(key)), labelOffset, grid: true, zero: true, nice: true, ...(nothing ? { domain: [0, 1], ticks: [0, 1] } : {}) },
        color: { legend: names.length > 1, domain: names },
        marks: [
          Plot.ruleY([0]),
          Plot.lineY(points, { x: 'x', y: 'y', z: 'series', stroke: 'series' }),
          ...(alone || points.length <= 400 ? [Plot.dot(points, { x: 'x', y: 'y', fill: 'series', r: 2.5 })] : []),
          Plot.dot(rings, { x: 'x', y: 'published', stroke: 'series', r: 4.5, strokeWidth: 1.5 }),
          Plot.tip(points, Plot.pointer({ x: 'x', y: 'y', title: 'tip' })),
        ],
      }),
    },
  ];
}

function leftOut(chart: ChartOf, what: string): Part {
  return { title: chart.title, about: `Not drawn: ${what} are too much for a picture. The table has them.`, plot: () => ({ height: 0, marks: [] }) };
}

function areas(of: Rows, chart: ChartOf): Part[] {
  const groups = Map.groupBy(of.rows, (row) => of.label(row, chart.series));
  const [place] = chart.labels;
  const heads = chart.values.map((key) => of.column(key).head || key);
  const totals = of.rows.map((row) => chart.values.reduce((sum, key) => sum + (of.number(row, key) ?? 0), 0));
  const limits = of.rows.map((row) => (chart.limit ? of.number(row, chart.limit) : undefined) ?? 0);
  const top = totals.reduce((most, one, i) => Math.max(most, one, limits[i]), 0);
  const { marginLeft, labelOffset } = besideAxis([top]);
  return [...groups].map(([name, rows]) => {
    if (rows.length > MOST_POINTS) return leftOut({ ...chart, title: `${chart.title}: ${name}` }, `${rows.length} points`);
    const times = rows.map((row) => of.number(row, place) ?? 0);
    const steps = times.map((time, i) => ({ time, row: rows[i] }));
    // The last one lasts as long as the first.
    const last = times[times.length - 1] + (times.length > 1 ? times[1] - times[0] : 1);
    steps.push({ time: last, row: rows[rows.length - 1] });
    const values = steps.flatMap(({ time, row }) => chart.values.map((key, j) => ({ time, part: heads[j], value: of.number(row, key) ?? 0 })));
    const tips = steps.slice(0, -1).map(({ time, row }) => ({
      time,
      value: chart.values.reduce((sum, key) => sum + (of.number(row, key) ?? 0), 0),
      tip: `${of.text(row, place)} ${of.column(place).unit}\n${chart.values.map((key, j) => `${heads[j]}: ${short(of.number(row, key) ?? 0)} ${of.column(key).unit}`).join('\n')}`,
    }));
    const limit = chart.limit ? of.number(rows[0], chart.limit) : undefined;
    const unit = of.column(chart.values[0]).unit;
    return {
      title: `${chart.title}: ${name}`,
      about: limit === undefined ? chart.about : `${chart.about} Here ${short(limit)} ${unit}.`,
      plot: (Plot) => ({
        height: 220,
        marginLeft,
        x: { label: headOf(of.column(place)) },
        y: { label: unit, labelOffset, grid: true, domain: [0, top] },
        color: { legend: true, domain: heads },
        marks: [
          Plot.areaY(values, { x: 'time', y: 'value', fill: 'part', z: 'part', curve: 'step-after' }),
          ...(limit === undefined ? [] : [Plot.ruleY([limit], { strokeDasharray: '4 3' })]),
          Plot.tip(tips, Plot.pointer({ x: 'time', y: 'value', title: 'tip' })),
        ],
      }),
    };
  });
}

function map(of: Rows, chart: ChartOf): Part[] {
  const [across, up] = chart.labels;
  const [key] = chart.values;
  const rows = of.rows.filter((row) => valueOf(row[of.index(key)]) !== null);
  const order = (name: string) => {
    const texts = new Map(of.rows.map((row) => [of.text(row, name), of.number(row, name)]));
    const all = [...texts];
    return (all.every(([, one]) => one !== undefined) ? all.sort(([, a], [, b]) => (a ?? 0) - (b ?? 0)) : all).map(([text]) => text);
  };
  const x = order(across);
  const y = order(up);
  if (rows.length === 0) return [];
  if (x.length > MOST_PLACES || y.length > MOST_PLACES) return [leftOut(chart, `${x.length} by ${y.length} fields`)];
  const number = rows.every((row) => of.number(row, key) !== undefined);
  const cells = rows.map((row) => {
    const words = of.label(row, chart.series);
    return {
      x: of.text(row, across),
      y: of.text(row, up),
      value: number ? of.number(row, key) : of.text(row, key),
      text: number ? `${of.text(row, key)}\n${words}` : words,
      tip: of.table.columns
        .map((column, i) => (column.data ? '' : `${column.head || column.key}: ${textOf(row[i], column)} ${column.unit}`))
        .filter(Boolean)
        .join('\n'),
    };
  });
  return [
    {
      title: chart.title,
      about: chart.about,
      plot: (Plot, width) => {
        const { marginLeft } = margin(y, width);
        const field = (width - marginLeft - 24) / x.length;
        const lines = number ? 2 : 1;
        // Words that do not fit are in the tip and in the table.
        const longest = Math.max(...cells.flatMap((cell) => cell.text.split('\n').map((line) => line.length)));
        const size = Math.min(12, (field - 4) / (0.58 * longest));
        const colour: PlotOptions['color'] = number
          ? { type: 'linear', scheme: 'blues', range: undefined, legend: true, label: headOf(of.column(key)) }
          : { legend: true, domain: [...new Set(cells.map((cell) => String(cell.value)))] };
        return {
          height: 70 + y.length * Math.max(18 * lines, Math.min(44, field * 0.6)),
          marginLeft: marginLeft + 20,
          marginBottom: 46,
          x: { type: 'band', label: headOf(of.column(across)), domain: x, padding: 0, tickRotate: x.join('').length * 7 > width ? -40 : 0 },
          y: { type: 'band', label: headOf(of.column(up)), domain: y, padding: 0, reverse: true },
          color: colour,
          marks: [
            Plot.cell(cells, { x: 'x', y: 'y', fill: 'value', inset: 0.5, title: 'tip', tip: { fontSize: 12 } }),
            ...(size >= 7 ? [Plot.text(cells, { x: 'x', y: 'y', text: 'text', fontSize: size, fill: 'white', stroke: 'black', strokeWidth: 2.5 })] : []),
          ],
        };
      },
    },
  ];
}

const KINDS = { bars, beside: bars, lines, areas, map };

export function Charts({ table, name }: { table: TableOf; name: string }) {
  const parts = table.charts.flatMap((chart) => (table.rows.length > 0 ? KINDS[chart.kind](new Rows(table, chart), chart) : []));
  return (
    <>
      {parts.map((part, i) => (
        <Chart key={i} title={part.title} about={part.about} name={`${name}-${table.key}-${i + 1}`} plot={part.plot} depends={[table]} />
      ))}
    </>
  );
}
