import { Chart } from '../chart';
import { bytes, type Row } from '../format';
import { machineWord, useQuestion } from '../question';
import { Form, Status, Table, valuesOf, type Field } from '../ui';
import type { View } from './view';

const FIELDS: Field[] = [
  { name: 'collective', label: 'Collective', initial: 'all-gather', list: 'collectives' },
  { name: 'sizes', label: 'Sizes, first:last', initial: '1KiB:1GiB', hint: 'whole buffer, doubled from one to the other' },
  { name: 'variant', label: 'Variants', initial: 'all', hint: 'names separated by commas, auto or all' },
  { name: 'rate', label: 'Show', initial: 'bus bandwidth', options: ['bus bandwidth', 'time'] },
];

function machineOf(values: Record<string, string>): string[] {
  return machineWord(values) === 'mi300x-8' ? [] : ['--machine', machineWord(values)];
}

function label(row: Row): string {
  return row.prelaunch ? `${String(row.variant)} prelaunched` : String(row.variant);
}

function Collectives() {
  const values = valuesOf(FIELDS);
  const words = ['bench', values.collective, '--on', 'sim', '--sizes', values.sizes, ...machineOf(values), '--json'];
  if (values.variant !== 'all') words.splice(4, 0, '--variant', values.variant);
  const asked = useQuestion(words, values);
  const copies = useQuestion(['bench', 'copy', '--phases', '--on', 'sim', ...machineOf(values), '--json'], values);
  const rows = (asked.document?.rows ?? []) as Row[];
  const phases = ((copies.document?.rows ?? []) as Row[]).flatMap((row) =>
    ['control', 'schedule', 'copy', 'sync'].map((phase) => ({ bytes: Number(row.bytes), phase, pct: Number(row[`${phase}_pct`]) })),
  );
  const library = rows.some((row) => row.variant === 'library');
  const y = values.rate === 'time' ? 'time_us' : 'busbw_GBps';
  const lines = rows.map((row) => ({ ...row, label: label(row), bytes: Number(row.bytes), y: Number(row[y]) }));
  const labels = [...new Set(lines.map((line) => line.label))];
  return (
    <>
      <Form fields={FIELDS} />
      <Status asked={asked} name="collective" rows={rows} />
      {rows.length > 0 && (
        <>
          <Chart
            title={`${values.collective}: ${values.rate} over size`}
            about={`Both axes are logarithmic. ${library ? 'library is what RCCL or NCCL takes, modelled.' : 'No library is modelled for this machine.'} Dashed: queues submitted ahead.`}
            name="collective"
            depends={[asked.document, y]}
            plot={(Plot) => ({
              height: 380,
              x: { type: 'log', base: 2, label: 'whole buffer', tickFormat: (value: number) => bytes(value), ticks: 8, grid: true },
              y: { type: 'log', label: y === 'time_us' ? 'time, µs' : 'bus bandwidth, GB/s', grid: true },
              color: { legend: true, domain: [...new Set(rows.map((row) => String(row.variant)))] },
              marks: [
                ...labels.map((one) =>
                  Plot.lineY(
                    lines.filter((line) => line.label === one),
                    { x: 'bytes', y: 'y', stroke: 'variant', strokeDasharray: one.endsWith('prelaunched') ? '4 3' : undefined, strokeWidth: one === 'library' ? 3 : 1.5 },
                  ),
                ),
                Plot.tip(lines, Plot.pointer({ x: 'bytes', y: 'y', title: (line: (typeof lines)[0]) => `${line.label}, ${bytes(line.bytes)}: ${line.y.toPrecision(4)}` })),
              ],
            })}
          />
          {phases.length > 0 && (
            <Chart
              title="Phases of one copy"
              about="One copy from GPU 0 to GPU 1: host control, scheduling, copying and synchronisation in percent of its time."
              name="phases"
              depends={[copies.document]}
              plot={(Plot) => ({
                height: 260,
                x: { label: 'bytes', type: 'band', tickFormat: (value: number) => bytes(value), tickRotate: -40 },
                marginBottom: 60,
                y: { label: '% of the time', grid: true },
                color: { legend: true, domain: ['control', 'schedule', 'copy', 'sync'] },
                marks: [Plot.barY(phases, { x: 'bytes', y: 'pct', fill: 'phase', tip: true })],
              })}
            />
          )}
          <Table
            caption="All points, predicted"
            rows={rows}
            columns={[
              { key: 'bytes', label: 'bytes' },
              { key: 'variant', label: 'variant', text: true },
              { key: 'prelaunch', label: 'prelaunched', text: true },
              { key: 'time_us', label: 'time, µs' },
              { key: 'algbw_GBps', label: 'algorithm bandwidth, GB/s' },
              { key: 'busbw_GBps', label: 'bus bandwidth, GB/s' },
              { key: 'commands', label: 'commands' },
              { key: 'signals', label: 'signals' },
              { key: 'energy_J', label: 'energy, J' },
            ]}
          />
        </>
      )}
    </>
  );
}

export const collectives: View = {
  id: 'collectives',
  title: 'Collectives',
  about: 'Variants of a collective on DMA engines over sizes, against the library, and the phases of one copy.',
  show: Collectives,
};
