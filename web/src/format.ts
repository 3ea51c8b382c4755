// Numbers for people. The exact value stands in the cell's data-value and in the exported files.
const formats = new Map<string, Intl.NumberFormat>();

/// Making a format takes far longer than using it.
function written(value: number, least: number, most: number): string {
  const key = `${least} ${most}`;
  let format = formats.get(key);
  if (!format) formats.set(key, (format = new Intl.NumberFormat('en', { minimumFractionDigits: least, maximumFractionDigits: most })));
  return format.format(value);
}

export function number(value: unknown): string {
  if (value === null || value === undefined) return '–';
  if (typeof value !== 'number') return String(value);
  if (Number.isInteger(value)) return written(value, 0, 0);
  if (Math.abs(value) >= 1000) return written(value, 1, 1);
  return written(Number(value.toPrecision(4)), 0, 12);
}

export function bytes(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    ++unit;
  }
  return `${Number(value.toPrecision(4))} ${units[unit]}`;
}

export function micros(value: number): string {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(4))} s`;
  if (value >= 1e4) return `${Number((value / 1e3).toPrecision(4))} ms`;
  return `${Number(value.toPrecision(4))} µs`;
}

export type Row = Record<string, unknown>;

/// Nested objects become a.b, as the documentation of the JSON writes them.
export function flat(row: Row, prefix = ''): Row {
  const out: Row = {};
  for (const [key, value] of Object.entries(row)) {
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
      Object.assign(out, flat(value as Row, `${prefix}${key}.`));
    } else out[prefix + key] = value;
  }
  return out;
}

export function csv(rows: Row[]): string {
  const flatRows = rows.map((row) => flat(row));
  const heads = [...new Set(flatRows.flatMap((row) => Object.keys(row)))];
  const cell = (value: unknown) => {
    if (value === null || value === undefined) return '';
    const text = Array.isArray(value) ? value.join(' ') : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [heads.join(','), ...flatRows.map((row) => heads.map((head) => cell(row[head])).join(','))].join('\n') + '\n';
}

export function quoted(words: string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
}

export function save(name: string, content: Blob | string, type = 'text/plain'): void {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
