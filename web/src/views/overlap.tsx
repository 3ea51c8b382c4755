import { useEffect, useMemo, useState } from 'preact/hooks';

import { Chart } from '../chart';
import { ALL_RANKS, type Strip } from '../draw';
import { ask } from '../engine';
import { micros, number, type Row } from '../format';
import { machineFiles, machineWord, useQuestion } from '../question';
import { go, place } from '../state';
import { Timelines } from '../timeline';
import { Form, Status, Table, valueOf, valuesOf, type Field } from '../ui';
import type { View } from './view';
import { AXES, WinnerMap } from './winners';

const extent = (i: number) => ({
  from: 8,
  to: 18,
  of: (text: string) => Math.round(Math.log2(Number(text.split('x')[i]) || 1024)),
  with: (text: string, value: number) => {
    const parts = text.split('x');
    parts[i] = String(2 ** value);
    return parts.join('x');
  },
});

export const FIELDS: Field[] = [
  { name: 'gemm', label: 'GEMM of one GPU, rows x columns x depth', initial: '16384x3584x8192', slider: extent(0), hint: 'the slider doubles the rows' },
  { name: 'collective', label: 'Collective', initial: 'all-gather', options: ['all-gather', 'reduce-scatter', 'all-reduce', 'all-to-all'] },
  { name: 'independent', label: 'independent of each other', initial: '', check: true },
  { name: 'bytes', label: 'Buffer of the collective', initial: '256MiB', when: (values) => values.independent !== '' },
  { name: 'dtype', label: 'Element type', initial: 'bf16', options: ['bf16', 'f16', 'f32', 'f8'] },
  { name: 'strategy', label: 'Strategies', initial: '', hint: 'names separated by commas, auto or all; empty: those usually compared' },
  { name: 'rank', label: 'Timelines of GPU', initial: '0', options: ['0', '1', '2', '3', '4', '5', '6', '7', 'all'] },
  { name: 'arrows', label: 'dependency arrows', initial: '', check: true },
];

/// The question without the command and the strategies.
export function problemWords(values: Record<string, string>): string[] {
  const words = [values.collective, '--gemm', values.gemm];
  if (values.independent) words.push('--independent', '--bytes', values.bytes);
  if (values.dtype !== 'bf16') words.push('--dtype', values.dtype);
  if (machineWord(values) !== 'mi300x-8') words.push('--machine', machineWord(values));
  return words;
}

function wordsOf(values: Record<string, string>): string[] {
  const words = ['overlap', ...problemWords(values)];
  if (values.strategy) words.push('--strategy', values.strategy);
  return [...words, '--json'];
}

/// Where the time of a strategy goes, in us. The parts add up to the time.
export function parts(row: Row, document: Row): { part: string; us: number }[] {
  const gemm = Number(document.gemm_alone_us);
  const time = Number(row.time_us);
  const dil = Math.max(1, Number(row.dil) || 1);
  const cil = Math.max(1, Number(row.cil_gemm) || 1);
  const decomposition = gemm * (dil - 1);
  const contention = gemm * dil * (cil - 1);
  const lost = Math.max(0, time - gemm);
  const cut = Math.min(decomposition, lost);
  const shared = Math.min(contention, lost - cut);
  return [
    { part: PARTS[0], us: Math.min(gemm, time) },
    { part: PARTS[1], us: cut },
    { part: PARTS[2], us: shared },
    { part: PARTS[3], us: lost - cut - shared },
  ];
}

const PARTS = ['GEMM alone', 'decomposition (DIL)', 'contention (CIL)', 'waiting for communication'];

function useStrips(document: Row | undefined, values: Record<string, string>, current: boolean): Strip[] {
  const [strips, setStrips] = useState<Strip[]>([]);
  const rows = (document?.rows ?? []) as Row[];
  const key = JSON.stringify([rows.map((row) => row.strategy), problemWords(values), values.set]);
  useEffect(() => {
    if (!document || !current) return;
    const stop = new AbortController();
    const gemm = Number(document.gemm_alone_us);
    const comm = Number(document.comm_alone_us);
    const gemmFirst = document.relation === 'collective-needs-gemm';
    const initial: Strip[] = rows.map((row) => {
      const strip: Strip = { name: String(row.strategy), time_us: Number(row.time_us) };
      if (row.strategy === 'serial') {
        strip.bars = [
          { label: 'GEMM', kind: 0, from: gemmFirst ? 0 : comm, to: gemmFirst ? gemm : comm + gemm },
          { label: String(document.collective), kind: 1, from: gemmFirst ? gemm : 0, to: gemmFirst ? gemm + comm : comm },
        ];
      } else if (row.bound) {
        strip.bars = [
          { label: 'GEMM', kind: 0, from: 0, to: gemm },
          { label: String(document.collective), kind: 1, from: 0, to: Math.min(comm, Number(row.time_us)) },
        ];
      }
      return strip;
    });
    setStrips(initial);
    void (async () => {
      const files = await machineFiles(values);
      await Promise.all(
        initial.map(async (strip, i) => {
          if (strip.bars) return;
          const words = ['run', 'overlap', ...problemWords(values), '--strategy', strip.name, '--on', 'sim', '--unproved', '--json', '--trace', 'trace.json'];
          try {
            const told = await ask({ words, files, trace: true, signal: stop.signal });
            if (!told.trace) return;
            setStrips((old) => old.map((one, j) => (j === i && one.name === strip.name ? { ...one, trace: told.trace, perfetto: told.perfetto } : one)));
          } catch {
            // stopped: another question was asked
          }
        }),
      );
    })();
    return () => stop.abort();
  }, [key, current]);
  return strips;
}

function Overlap() {
  const values = valuesOf(FIELDS);
  const axes = { x: valueOf([], 'x') || AXES.x.initial, y: valueOf([], 'y') || AXES.y.initial };
  const asked = useQuestion(wordsOf(values), values);
  const { document } = asked;
  const rows = (document?.rows ?? []) as Row[];
  const skipped = (document?.skipped ?? []) as Row[];
  const strips = useStrips(document, values, !asked.busy && !asked.error);
  const bars = useMemo(
    () => (document ? rows.flatMap((row) => parts(row, document).map((part) => ({ ...part, strategy: String(row.strategy) }))) : []),
    [document],
  );
  return (
    <>
      <Form fields={FIELDS} />
      <Status asked={asked} name="overlap" rows={rows} />
      {document && (
        <>
          <p class="answer" data-testid="choice">
            Use <strong>{String(document.choice)}</strong>: {String(document.reason)}.
          </p>
          <p class="note">
            GEMM alone {micros(Number(document.gemm_alone_us))}, collective alone {micros(Number(document.comm_alone_us))}, one after the other{' '}
            {micros(Number(document.serial_us))}, ideal {micros(Number(document.ideal_us))}; {String(document.ranks)} GPUs of {String(document.machine)}.
          </p>
          <Table
            caption="All strategies, predicted"
            rows={rows}
            marked={(row) => row.strategy === document.choice}
            columns={[
              { key: 'strategy', label: 'strategy', text: true },
              { key: 'time_us', label: 'time, µs' },
              { key: 'speedup', label: 'speed-up' },
              { key: 'share_of_ideal', label: 'share of ideal gain' },
              { key: 'exposed_comm_us', label: 'exposed, µs' },
              { key: 'gemm_us', label: 'GEMM end, µs' },
              { key: 'comm_cus', label: 'comm. CUs', show: (value) => (value === 0 ? 'DMA' : number(value)) },
              { key: 'energy_J', label: 'energy, J' },
              { key: 'power_W', label: 'per GPU, W' },
              { key: 'how', label: 'how', text: true },
            ]}
          />
          {skipped.length > 0 && (
            <details>
              <summary>{skipped.length} strategies do not apply</summary>
              <ul>
                {skipped.map((row) => (
                  <li key={String(row.strategy)}>
                    <strong>{String(row.strategy)}</strong>: {String(row.message)}
                  </li>
                ))}
              </ul>
            </details>
          )}
          <Chart
            title="What eats the gain"
            about="Time of each strategy in microseconds: the GEMM alone, what cutting it costs, what sharing memory and caches costs, and waiting for communication."
            name="overlap-parts"
            depends={[bars]}
            plot={(Plot) => ({
              height: 60 + 26 * rows.length,
              marginLeft: 150,
              x: { label: 'time, µs', grid: true },
              y: { label: null, domain: rows.map((row) => String(row.strategy)) },
              color: { legend: true, domain: PARTS },
              marks: [Plot.barX(bars, { x: 'us', y: 'strategy', fill: 'part', tip: true }), Plot.ruleX([Number(document.ideal_us)], { strokeDasharray: '4 3' })],
            })}
          />
          <h3>Timelines</h3>
          <Timelines strips={strips} rank={values.rank === 'all' ? ALL_RANKS : Number(values.rank)} arrows={values.arrows !== ''} />
          <WinnerMap
            values={{ ...values, ...axes }}
            onPick={(picked) => go({ view: place.value.view, values: { ...place.value.values, ...picked } })}
          />
        </>
      )}
    </>
  );
}

export const overlap: View = {
  id: 'overlap',
  title: 'Overlap',
  about: 'A GEMM and a collective at the same time, by every strategy: which wins, and where the gain is lost.',
  show: Overlap,
};
