import { useEffect, useState } from 'preact/hooks';

import { Chart } from '../chart';
import { ask } from '../engine';
import { micros, type Row } from '../format';
import { machineFiles, machineWord, useQuestion } from '../question';
import { Form, Status, Table, valuesOf, type Field } from '../ui';
import type { View } from './view';

const FIELDS: Field[] = [
  { name: 'model', label: 'Model', initial: 'llama-3.1-70b', list: 'models' },
  { name: 'tp', label: 'Tensor parallel', initial: '8', options: ['1', '2', '4', '8'] },
  { name: 'tokens', label: 'Cached prefix, tokens', initial: '32768' },
  { name: 'block', label: 'Tokens of a block', initial: '16' },
  { name: 'layout', label: 'Layout of a block', initial: 'per-layer', options: ['per-layer', 'layer', 'cross-layer'] },
];

function wordsOf(values: Record<string, string>): string[] {
  const words = ['kv', '--model', values.model, '--tp', values.tp, '--tokens', values.tokens];
  if (values.block !== '16') words.push('--block', values.block);
  if (values.layout !== 'per-layer') words.push('--layout', values.layout);
  if (machineWord(values) !== 'mi300x-8') words.push('--machine', machineWord(values));
  return [...words, '--json'];
}

interface Point {
  tokens: number;
  strategy: string;
  ms: number;
}

/// The same question for shorter prefixes.
function usePrefixes(values: Record<string, string>, current: boolean): Point[] {
  const [points, setPoints] = useState<Point[]>([]);
  const key = JSON.stringify([wordsOf(values), values.set]);
  useEffect(() => {
    setPoints([]);
    if (!current) return;
    const stop = new AbortController();
    const longest = Number(values.tokens);
    const lengths: number[] = [];
    for (let tokens = 256; tokens < longest; tokens *= 2) lengths.push(tokens);
    if (Number.isFinite(longest)) lengths.push(longest);
    void (async () => {
      const files = await machineFiles(values);
      for (const tokens of lengths) {
        try {
          const told = await ask({ words: wordsOf({ ...values, tokens: String(tokens) }), files, signal: stop.signal });
          if (told.exit !== 0) continue;
          const document = JSON.parse(told.out) as Row;
          const found = (document.rows as Row[]).map((row) => ({ tokens, strategy: String(row.strategy), ms: Number(row.time_us) / 1e3 }));
          if (document.recompute_us !== null) found.push({ tokens, strategy: 'recompute', ms: Number(document.recompute_us) / 1e3 });
          setPoints((old) => [...old, ...found.filter((point) => Number.isFinite(point.ms) && point.ms > 0)]);
        } catch {
          return;
        }
      }
    })();
    return () => stop.abort();
  }, [key, current]);
  return points;
}

function Kv() {
  const values = valuesOf(FIELDS);
  const asked = useQuestion(wordsOf(values), values);
  const { document } = asked;
  const rows = (document?.rows ?? []) as Row[];
  const points = usePrefixes(values, !asked.busy && !asked.error);
  return (
    <>
      <Form fields={FIELDS} />
      <Status asked={asked} name="kv" rows={rows} />
      {document && (
        <>
          <p class="answer">
            Use <strong>{String(document.choice)}</strong>. Recomputing the prefix takes {micros(Number(document.recompute_us))};{' '}
            {document.break_even_tokens === null
              ? 'no prefix up to this one is fetched faster than it is computed.'
              : `the shortest prefix that is fetched faster than it is computed has ${Number(document.break_even_tokens).toLocaleString('en')} tokens.`}
          </p>
          <Chart
            title="Fetch against recompute over prefix length"
            about="Time in milliseconds, both axes logarithmic. The thick line shows recomputation of the prefix."
            name="kv"
            depends={[points]}
            plot={(Plot) => ({
              height: 360,
              x: { type: 'log', base: 2, label: 'cached prefix, tokens', grid: true, tickFormat: (value: number) => value.toLocaleString('en') },
              y: { type: 'log', label: 'time, ms', grid: true },
              color: { legend: true, domain: [...new Set(points.map((point) => point.strategy))] },
              marks: [
                Plot.lineY(points, { x: 'tokens', y: 'ms', z: 'strategy', stroke: 'strategy', strokeWidth: (point: Point) => (point.strategy === 'recompute' ? 3 : 1.5), sort: 'tokens' }),
                Plot.dot(points, { x: 'tokens', y: 'ms', fill: 'strategy', r: 2.5, tip: true }),
              ],
            })}
          />
          <Table
            caption="Strategies, predicted"
            rows={rows}
            marked={(row) => row.strategy === document.choice}
            columns={[
              { key: 'strategy', label: 'strategy', text: true },
              { key: 'time_us', label: 'time, µs' },
              { key: 'GBps', label: 'GB/s' },
              { key: 'host_us', label: 'host, µs' },
              { key: 'cus', label: 'CUs' },
              { key: 'energy_J', label: 'energy, J' },
              { key: 'first_layer_us', label: 'first layer, µs' },
              { key: 'of_recompute', label: 'of recompute' },
            ]}
          />
        </>
      )}
    </>
  );
}

export const kv: View = {
  id: 'kv',
  title: 'KV cache',
  about: 'A cached prefix in host memory: how to fetch it, and from which length on fetching beats recomputing it.',
  show: Kv,
};
