// Tables that grow piece by piece, with the exact number of every cell.
import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';

import { number, type Row } from './format';
import { soon } from './soon';

export interface Column {
  key: string;
  label: string;
  of?: (row: Row) => unknown;
  show?: (value: unknown, row: Row) => ComponentChildren;
  text?: boolean;
  long?: boolean; // words that may go below each other
}

/// A long list is shown piece by piece, so that the page stays responsive while it grows.
const ROWS_A_TASK = 40;

export function useGrowing(length: number): { shown: number; growing: boolean } {
  const [shown, setShown] = useState(ROWS_A_TASK);
  const growing = shown < length;
  useEffect(() => {
    if (!growing) return;
    const stop = new AbortController();
    soon(() => setShown((count) => count + ROWS_A_TASK), stop.signal);
    return () => stop.abort();
  }, [shown, growing]);
  return { shown, growing };
}

/// Widths of columns from all rows, in digits: the browser needs not look at every cell again for each row that is added.
function widths(columns: Column[], rows: Row[]): number[] {
  const text = (column: Column, row: Row) => {
    const value = column.of ? column.of(row) : row[column.key];
    const shown = column.show ? column.show(value, row) : number(value);
    return typeof shown === 'string' ? shown : String(value);
  };
  return columns.map((column) => rows.reduce((most, row) => Math.max(most, text(column, row).length), column.label.length));
}

function rowOf(columns: Column[], row: Row, i: number, marked: boolean): VNode {
  return (
    <tr key={i} class={marked ? 'marked' : ''}>
      {columns.map((column) => {
        const value = column.of ? column.of(row) : row[column.key];
        return (
          <td
            key={column.key}
            class={column.text ? (column.long ? 'words' : '') : 'num'}
            data-key={column.key}
            data-value={value === null || value === undefined ? '' : String(value)}
            title={typeof value === 'number' ? String(value) : undefined}
          >
            {column.show ? column.show(value, row) : number(value)}
          </td>
        );
      })}
    </tr>
  );
}

interface TableProps {
  caption: string;
  columns: Column[];
  rows: Row[];
  marked?: (row: Row) => boolean;
}

/// More rows than a browser scrolls through with ease come in parts.
const ROWS_A_PART = 500;

export function Table({ caption, rows, ...rest }: TableProps) {
  const [part, setPart] = useState(0);
  const parts = Math.ceil(rows.length / ROWS_A_PART);
  const from = Math.min(part, Math.max(parts - 1, 0)) * ROWS_A_PART;
  const some = useMemo(() => (parts > 1 ? rows.slice(from, from + ROWS_A_PART) : rows), [rows, from, parts]);
  return (
    <>
      <Part key={from} caption={caption} rows={some} {...rest} />
      {parts > 1 && (
        <p class="tools">
          <button type="button" disabled={part === 0} onClick={() => setPart(0)}>
            first
          </button>
          <button type="button" disabled={part === 0} onClick={() => setPart(part - 1)}>
            previous
          </button>
          <button type="button" disabled={part + 1 >= parts} onClick={() => setPart(part + 1)}>
            next
          </button>
          <button type="button" disabled={part + 1 >= parts} onClick={() => setPart(parts - 1)}>
            last
          </button>
          <span role="status">
            rows {number(from + 1)} to {number(from + some.length)} of {number(rows.length)}
          </span>
        </p>
      )}
    </>
  );
}

function Part({ caption, columns, rows, marked }: TableProps) {
  const { shown, growing } = useGrowing(rows.length);
  const long = rows.length > ROWS_A_TASK;
  // Rows that are there already are not made again when more follow.
  const made = useMemo<VNode[]>(() => [], [rows]);
  for (let i = made.length; i < Math.min(shown, rows.length); ++i) made.push(rowOf(columns, rows[i], i, marked?.(rows[i]) ?? false));
  const wide = useMemo(() => (long ? widths(columns, rows) : []), [rows, long]);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={caption} aria-busy={growing}>
      <table class={long ? 'long' : ''}>
        <caption>{caption}</caption>
        {long && (
          <colgroup>
            {columns.map((column, i) => (
              <col key={column.key} style={{ width: `calc(${wide[i]}ch + 18px)` }} />
            ))}
          </colgroup>
        )}
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.key} scope="col" class={column.text ? '' : 'num'}>
                {column.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {[...made]}
        </tbody>
      </table>
    </div>
  );
}
