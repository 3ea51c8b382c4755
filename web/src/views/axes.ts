// Axes of the map of winners: extents of the GEMM, the buffer of the collective, and every number of the machine.
import { changed, DEFAULT_MACHINE, machineText, numbers, parseChanges, writeChanges } from '../machines';

type Values = Record<string, string>;

export interface Axis {
  id: string;
  label: string;
  group: 'question' | 'machine';
  value: number;
  whole: boolean;
  least: number;
  at: (values: Values, value: number) => Values; // what differs from the values
}

const EXTENTS = ['rows', 'columns', 'depth'];
const LEAST_EXTENT = 64;

function extents(values: Values): Axis[] {
  const shape = values.gemm.split(',')[0].split('x').map(Number);
  return EXTENTS.map((label, i) => ({
    id: label,
    label: `${label} of the GEMM`,
    group: 'question',
    value: shape[i],
    whole: true,
    least: LEAST_EXTENT,
    at: (old, value) => ({ gemm: old.gemm.split(',')[0].split('x').map((size, j) => (j === i ? String(value) : size)).join('x') }),
  }));
}

const UNITS: Record<string, number> = { '': 1, B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

function buffer(values: Values): Axis[] {
  const match = values.bytes.match(/^(\d+)\s*([A-Za-z]*)$/);
  if (!values.independent || !match || !(match[2] in UNITS)) return [];
  const value = Number(match[1]) * UNITS[match[2]];
  return [{ id: 'bytes', label: 'buffer of the collective, bytes', group: 'question', value, whole: true, least: 1, at: (_, size) => ({ bytes: String(size) }) }];
}

/// With the machine's numbers as they are now: changed ones count from their change.
export async function axesOf(values: Values): Promise<Axis[]> {
  const text = (await machineText(values.machine || DEFAULT_MACHINE)) ?? '';
  const machine = numbers(changed(text, parseChanges(values.set))).map(
    ({ key, value, whole }): Axis => ({
      id: key,
      label: key,
      group: 'machine',
      value,
      whole,
      least: whole ? 1 : 0,
      at: (old, next) => ({ set: writeChanges({ ...parseChanges(old.set), [key]: whole ? String(next) : next.toPrecision(6).replace(/^(\d+)$/, '$1.0') }) }),
    }),
  );
  return [...extents(values), ...buffer(values), ...machine];
}

/// The value of an axis, doubled `step` times.
export function stepped(axis: Axis, step: number): number {
  const value = axis.value * 2 ** step;
  return Math.max(axis.least, axis.whole ? Math.round(value) : Number(value.toPrecision(6)));
}
