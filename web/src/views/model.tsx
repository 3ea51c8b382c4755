import { Chart } from '../chart';
import { micros, type Row } from '../format';
import { machineWord, useQuestion } from '../question';
import { Form, Status, Table, valuesOf, type Field } from '../ui';
import type { View } from './view';

const training = (values: Record<string, string>) => values.phase === 'train';

const FIELDS: Field[] = [
  { name: 'model', label: 'Model', initial: 'llama-3.1-70b', list: 'models' },
  { name: 'phase', label: 'Phase', initial: 'prefill', options: ['prefill', 'decode', 'train', 'generate'] },
  { name: 'tp', label: 'Tensor parallel', initial: '8', options: ['1', '2', '4', '8'] },
  { name: 'fsdp', label: 'FSDP', initial: '1', options: ['1', '2', '4', '8'], when: training },
  { name: 'batch', label: 'Sequences', initial: '1' },
  { name: 'tokens', label: 'New tokens of a sequence', initial: '8192', when: (values) => values.phase === 'prefill' || training(values) },
  { name: 'context', label: 'Cached tokens', initial: '0', when: (values) => values.phase === 'decode' || values.phase === 'prefill' },
];

function wordsOf(values: Record<string, string>): string[] {
  const words = ['model', values.model, '--phase', values.phase, '--tp', values.tp, '--batch', values.batch];
  if (training(values)) words.push('--fsdp', values.fsdp);
  if (training(values) || values.phase === 'prefill') words.push('--tokens', values.tokens);
  if (values.phase === 'decode' || values.phase === 'prefill') words.push('--context', values.context);
  if (machineWord(values) !== 'mi300x-8') words.push('--machine', machineWord(values));
  return [...words, '--json'];
}

const PARTS: [string, string][] = [
  ['compute', 'compute_us'],
  ['exposed communication', 'exposed_comm_us'],
  ['bubble', 'bubble_us'],
];

function Model() {
  const values = valuesOf(FIELDS);
  const asked = useQuestion(wordsOf(values), values);
  const { document } = asked;
  const rows = (document?.rows ?? []) as Row[];
  const operators = ((document?.operators ?? []) as Row[]).toSorted((a, b) => Number(b.share) - Number(a.share));
  const pairs = (document?.pairs ?? []) as Row[];
  const bars = rows.flatMap((row) => PARTS.map(([part, key]) => ({ system: String(row.system), part, ms: Number(row[key] ?? 0) / 1e3 })));
  const calls = Map.groupBy(operators, (row) => `${String(row.operator)} (${String(row.block)})`);
  const largest = [...calls.entries()]
    .map(([name, same]) => ({ name, share: same.reduce((sum, row) => sum + 100 * Number(row.share), 0) }))
    .toSorted((a, b) => b.share - a.share)
    .slice(0, 14);
  return (
    <>
      <Form fields={FIELDS} />
      <Status asked={asked} name="model" rows={rows} />
      {document && (
        <>
          <p class="answer">
            Fastest: <strong>{String(document.system)}</strong>, {micros(Number(document.time_us))} a step, {Math.round(Number(document.tokens_per_s)).toLocaleString('en')} tokens a
            second on {String(document.gpus)} GPUs.
          </p>
          <Chart
            title="A step by system"
            about="Time of a step in milliseconds: compute, communication that is not hidden, and waiting for other stages."
            name="model-systems"
            depends={[document]}
            plot={(Plot) => ({
              height: 60 + 26 * rows.length,
              marginLeft: 90,
              x: { label: 'time, ms', grid: true },
              y: { label: null, domain: rows.map((row) => String(row.system)) },
              color: { legend: true, domain: PARTS.map(([part]) => part) },
              marks: [Plot.barX(bars, { x: 'ms', y: 'system', fill: 'part', tip: true })],
            })}
          />
          <Table
            caption="Systems, predicted"
            rows={rows}
            marked={(row) => row.system === document.system}
            columns={[
              { key: 'system', label: 'system', text: true },
              { key: 'time_us', label: 'time, µs' },
              { key: 'speedup', label: 'over serial' },
              { key: 'tokens_per_s', label: 'tokens/s' },
              { key: 'mfu', label: 'MFU' },
              { key: 'compute_us', label: 'compute, µs' },
              { key: 'exposed_comm_us', label: 'exposed, µs' },
              { key: 'bubble_us', label: 'bubble, µs' },
              { key: 'energy_J', label: 'energy, J' },
              { key: 'joules_per_token', label: 'J per token' },
            ]}
          />
          <Chart
            title="Where compute goes: the largest operators"
            about="Share of the time of serial, in percent, of all calls of an operator."
            name="model-operators"
            depends={[document]}
            plot={(Plot) => ({
              height: 60 + 22 * largest.length,
              marginLeft: 220,
              x: { label: '% of a serial step', grid: true },
              y: { label: null, domain: largest.map((row) => row.name) },
              marks: [Plot.barX(largest, { x: 'share', y: 'name', fill: '#0072b2', tip: true })],
            })}
          />
          <Table
            caption="Collectives and the GEMMs they meet"
            rows={pairs}
            columns={[
              { key: 'block', label: 'block', text: true },
              { key: 'collective', label: 'collective', text: true },
              { key: 'with', label: 'with', text: true },
              { key: 'times', label: 'times' },
              { key: 'alone_us', label: 'alone, µs' },
              { key: 'gemm_us', label: 'GEMM, µs' },
              { key: 'chosen', label: 'chosen', text: true },
            ]}
          />
          <Table
            caption="Operators"
            rows={operators}
            columns={[
              { key: 'block', label: 'block', text: true },
              { key: 'operator', label: 'operator', text: true },
              { key: 'what', label: 'what', text: true },
              { key: 'times', label: 'times' },
              { key: 'time_us', label: 'time, µs' },
              { key: 'share', label: 'share of serial' },
            ]}
          />
        </>
      )}
    </>
  );
}

export const model: View = {
  id: 'model',
  title: 'Model',
  about: 'A step of a model by every system, and where its time goes.',
  show: Model,
};
