import { Chart } from '../chart';
import { type Row } from '../format';
import { machineWord, useQuestion } from '../question';
import { Form, Status, Table, valuesOf, type Field } from '../ui';
import type { View } from './view';

const FIELDS: Field[] = [
  { name: 'gemm', label: 'GEMM of one GPU, rows x columns x depth', initial: '8192x8192x8192' },
  { name: 'collective', label: 'Collective', initial: 'all-gather', options: ['all-gather', 'reduce-scatter', 'all-reduce', 'all-to-all'] },
  { name: 'bytes', label: 'Buffer of the collective', initial: '256MiB' },
  { name: 'policy', label: 'Policies', initial: 'all', hint: 'names separated by commas, or all' },
  { name: 'cap', label: 'Cap of a board, W', initial: '', hint: 'empty: the machine’s' },
];

function wordsOf(values: Record<string, string>): string[] {
  const words = ['power', values.collective, '--gemm', values.gemm, '--bytes', values.bytes, '--independent'];
  if (values.policy !== 'all') words.push('--policy', values.policy);
  if (values.cap) words.push('--cap', values.cap);
  if (machineWord(values) !== 'mi300x-8') words.push('--machine', machineWord(values));
  return [...words, '--json', '--html', 'power.html']; // --html also keeps watts over time
}

const COMPONENTS = ['xcd', 'iod', 'hbm', 'rest'];

function Power() {
  const values = valuesOf(FIELDS);
  const asked = useQuestion(wordsOf(values), values);
  const { document } = asked;
  const rows = (document?.rows ?? []) as Row[];
  const samples = ((document?.over_time ?? []) as Row[]).flatMap((row) => {
    const watts = row.power_W_by_component as Record<string, number>;
    return COMPONENTS.map((component) => ({ policy: String(row.policy), time: Number(row.time_us), component, watts: watts[component] }));
  });
  const policies = [...new Set(samples.map((sample) => sample.policy))];
  const both = rows.filter((row) => row.what === 'both');
  const points = [...Map.groupBy(both, (row) => `${String(row.time_us)} ${String(row.energy_J)}`).values()].map((same) => ({ ...same[0], policy: same.map((row) => row.policy).join(', ') }));
  return (
    <>
      <Form fields={FIELDS} />
      <Status asked={asked} name="power" rows={rows} />
      {document && (
        <>
          <Chart
            title="Energy and time by policy"
            about="Both at once: each policy by its time and its energy; nearer to the lower left is better."
            name="power-policies"
            depends={[document]}
            plot={(Plot) => ({
              height: 280,
              inset: 24,
              marginRight: 48,
              x: { label: 'time of an iteration, µs', grid: true, nice: true },
              y: { label: 'energy of all GPUs, J', grid: true, nice: true },
              marks: [
                Plot.dot(points, { x: 'time_us', y: 'energy_J', fill: '#0072b2', r: 5, tip: true }),
                Plot.text(points, { x: 'time_us', y: 'energy_J', text: 'policy', dy: -12 }),
              ],
            })}
          />
          {policies.map((policy) => (
            <Chart
              key={policy}
              title={`Watts of GPU 0 over time, policy ${policy}`}
              about="By component: compute dies (xcd), I/O dies (iod), memory (hbm) and the rest of the board; dashed: the cap."
              name={`power-${policy}`}
              depends={[document]}
              plot={(Plot) => ({
                height: 200,
                x: { label: 'time, µs' },
                y: { label: 'W', grid: true },
                color: { legend: true, domain: COMPONENTS },
                marks: [
                  Plot.areaY(
                    samples.filter((sample) => sample.policy === policy),
                    { x: 'time', y: 'watts', fill: 'component', curve: 'step-after' },
                  ),
                  ...(document.cap_W === null ? [] : [Plot.ruleY([Number(document.cap_W)], { strokeDasharray: '4 3' })]),
                ],
              })}
            />
          ))}
          <Table
            caption="Policies, predicted"
            rows={rows}
            columns={[
              { key: 'what', label: 'what', text: true },
              { key: 'policy', label: 'policy', text: true },
              { key: 'time_us', label: 'time, µs' },
              { key: 'energy_J', label: 'energy, J' },
              { key: 'power_W', label: 'per GPU, W' },
              { key: 'peak_W', label: 'peak, W' },
              { key: 'clock', label: 'compute clock, GHz', of: (row) => (row.clock_GHz as Row | null)?.xcd },
              { key: 'time_change_pct', label: 'time, %' },
              { key: 'energy_change_pct', label: 'energy, %' },
              { key: 'tflops', label: 'TFLOP/s' },
            ]}
          />
        </>
      )}
    </>
  );
}

export const power: View = {
  id: 'power',
  title: 'Power',
  about: 'Watts by component over time, and what power policies cost and save.',
  show: Power,
};
