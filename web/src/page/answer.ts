// What a page has inside: the answer of a command as src/report/page.cpp writes it, and its texts, which are those of the terminal.
export type Value = null | boolean | number | string | string[];
export type Cell = Value | { value: Value; text: string };

export interface Column {
  key: string;
  head: string;
  unit: string;
  data?: boolean; // in files only
  whole?: boolean; // all numbers of it
  digits?: number;
  notation?: 'with_sign' | 'significant' | 'shortest';
  scale?: number;
  csv?: string;
}

export interface ChartOf {
  kind: 'bars' | 'beside' | 'lines' | 'areas' | 'map';
  title: string;
  about: string;
  values: string[];
  labels: string[];
  series: string[];
  published?: string;
  limit?: string;
  most?: number;
  marked?: string; // label of the bar to use
}

export interface TableOf {
  key: string;
  title: string;
  shown: boolean;
  count: number; // rows that the command had
  columns: Column[];
  rows: Cell[][];
  charts: ChartOf[];
}

export interface Answer {
  schema: string;
  version: number;
  title: string;
  measured: boolean;
  about: string[];
  answer: string[];
  notes: string[];
  facts: { key: string; value: Value; csv: boolean }[];
  tables: TableOf[];
}

export interface Page {
  title: string;
  command: string;
  version: string;
  date: string;
  documents: Answer[];
}

export function valueOf(cell: Cell): Value {
  return cell !== null && typeof cell === 'object' && !Array.isArray(cell) ? cell.value : cell;
}

/// As the terminal rounds: to the nearest, and from the middle of two to the even one.
function fixed(value: number, digits: number): string {
  const text = value.toFixed(digits);
  if (!Number.isInteger(value * 2 ** (digits + 1)) || Number.isInteger(value * 2 ** digits)) return text;
  const whole = Math.floor(Math.abs(value) * 10 ** digits);
  const even = (whole % 2 === 0 ? whole : whole + 1) / 10 ** digits;
  return Math.abs(Math.abs(value) * 10 ** digits - whole) === 0.5 ? (Math.sign(value) * even).toFixed(digits) : text;
}

function significant(value: number, digits: number): string {
  if (Math.abs(value) >= 10 ** (digits - 1) - 0.05) return fixed(value, 0);
  return value === 0 ? (0).toFixed(digits - 1) : withExponent(value.toPrecision(digits));
}

/// 1e-7 as the terminal writes it: 1e-07.
function withExponent(text: string): string {
  return text.replace(/e([+-])(\d)$/, 'e$10$2');
}

function shortest(value: number, digits: number): string {
  const text = value.toPrecision(digits);
  const exponent = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(Number(text))));
  if (exponent < -4 || exponent >= digits) return withExponent(value.toExponential(digits - 1).replace(/\.?0+e/, 'e'));
  return String(Number(text));
}

export function textOf(cell: Cell, column: Column): string {
  if (cell !== null && typeof cell === 'object' && !Array.isArray(cell)) return cell.text;
  if (cell === null) return '-';
  if (Array.isArray(cell)) return cell.join(', ');
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  if (typeof cell === 'string') return cell;
  const scale = column.scale ?? 1;
  const digits = column.digits ?? 0;
  if (column.whole) return String(cell);
  const value = cell * scale;
  if (column.notation === 'significant') return significant(value, digits);
  if (column.notation === 'shortest') return shortest(value, digits || 6);
  const text = fixed(value, digits);
  if (column.notation !== 'with_sign') return text;
  const plain = text.replace(/^-/, '');
  return /[1-9]/.test(text) ? (value < 0 ? text : `+${plain}`) : plain;
}

/// A number as charts draw it, in the unit of the column.
export function drawn(cell: Cell, column: Column): number | undefined {
  const value = valueOf(cell);
  return typeof value === 'number' ? value * (column.scale ?? 1) : undefined;
}

/// With its unit, as a heading.
export function headOf(column: Column): string {
  const head = column.head || column.key;
  return column.unit ? `${head}, ${column.unit}` : head;
}

/// Whether the table shows the column: it has anything, and is not for files only.
export function isShown(table: TableOf, index: number): boolean {
  if (table.columns[index].data) return false;
  return table.rows.length === 0 || table.rows.some((row) => valueOf(row[index]) !== null);
}

// --- Files -----------------------------------------------------------------------------------------------------------

type Tree = { [key: string]: unknown };

/// Sets "a.b" as b of a. What has no value inside of an object that has none stays null.
function set(object: Tree, key: string, value: Value): void {
  const point = key.indexOf('.');
  if (point < 0) {
    object[key] = value;
    return;
  }
  const outer = key.slice(0, point);
  object[outer] ??= null;
  if (value === null && object[outer] === null) return;
  object[outer] ??= {};
  set(object[outer] as Tree, key.slice(point + 1), value);
}

/// The document that --json prints.
export function jsonOf(answer: Answer): Tree {
  const json: Tree = { schema: answer.schema, version: answer.version };
  for (const { key, value } of answer.facts) set(json, key, value);
  for (const table of answer.tables) {
    json[table.key] = table.rows.map((row) => {
      const object: Tree = {};
      table.columns.forEach((column, i) => set(object, column.key, valueOf(row[i])));
      return object;
    });
  }
  return json;
}

/// A table as rows of objects without nesting, facts that stand in every row first.
export function recordsOf(answer: Answer, table: TableOf): Record<string, unknown>[] {
  const facts = Object.fromEntries(answer.facts.filter((fact) => fact.csv).map(({ key, value }) => [key, value]));
  return table.rows.map((row) => ({ ...facts, ...Object.fromEntries(table.columns.map((column, i) => [column.csv ?? column.key, valueOf(row[i])])) }));
}
