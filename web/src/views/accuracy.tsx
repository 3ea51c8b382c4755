import { Chart } from '../chart';
import { type Row } from '../format';
import { useQuestion } from '../question';
import { Form, Status, Table, valuesOf, type Field } from '../ui';
import type { View } from './view';

const FIELDS: Field[] = [{ name: 'publication', label: 'Publication', initial: 'dma-latte', list: 'publications' }];

function Accuracy() {
  const values = valuesOf(FIELDS);
  // On the machine that was measured, as its file is.
  const words = ['reproduce', values.publication, '--json'];
  const asked = useQuestion(words, {});
  const reproduction = ((asked.document?.reproductions ?? []) as Row[])[0] ?? (asked.document?.rows ? asked.document : undefined);
  const rows = (reproduction?.rows ?? []) as Row[];
  const tables = (reproduction?.tables ?? []) as Row[];
  const points = rows
    .map((row) => ({ item: String(row.item), published: Number(row.published), ours: Number(row.ours), used_for: String(row.used_for) }))
    .filter((point) => point.published > 0 && point.ours > 0);
  const extremes = points.flatMap((point) => [point.published, point.ours]);
  const line = [
    { published: Math.min(...extremes), ours: Math.min(...extremes) },
    { published: Math.max(...extremes), ours: Math.max(...extremes) },
  ];
  return (
    <>
      <Form fields={FIELDS} machine={false} />
      <Status asked={asked} name="accuracy" rows={rows} />
      {reproduction && (
        <>
          <p class="answer">
            <strong>{String(reproduction.title)}</strong>, simulated on {String(reproduction.machine)}.
          </p>
          {points.length > 0 && (
            <Chart
              title="Published against ours"
              about="Every published number, both axes logarithmic; on the line they are equal. Numbers used for calibration are told apart from those kept for validation."
              name="accuracy"
              depends={[asked.document]}
              plot={(Plot, width) => ({
                height: Math.min(460, width),
                x: { type: 'log', label: 'published', grid: true },
                y: { type: 'log', label: 'ours', grid: true },
                color: { domain: ['calibration', 'validation'] },
                symbol: { legend: true, domain: ['calibration', 'validation'] },
                marks: [
                  Plot.lineY(line, { x: 'published', y: 'ours', strokeDasharray: '4 3' }),
                  Plot.dot(points, { x: 'published', y: 'ours', stroke: 'used_for', symbol: 'used_for', tip: true, title: (point: (typeof points)[0]) => `${point.item}: published ${point.published}, ours ${point.ours.toPrecision(4)}` }),
                ],
              })}
            />
          )}
          <Table
            caption="Tables"
            rows={tables}
            columns={[
              { key: 'name', label: 'table', text: true },
              { key: 'mean_error', label: 'mean error' },
              { key: 'worst_error', label: 'worst error' },
              { key: 'errors', label: 'in', text: true },
              { key: 'goal_mean', label: 'goal, mean' },
              { key: 'reached', label: 'reached', text: true },
            ]}
          />
          <Table
            caption="Every published number"
            rows={rows}
            columns={[
              { key: 'item', label: 'item', text: true },
              { key: 'published', label: 'published' },
              { key: 'ours', label: 'ours' },
              { key: 'error_pct', label: 'error, % or points' },
              { key: 'used_for', label: 'used for', text: true },
            ]}
          />
        </>
      )}
    </>
  );
}

export const accuracy: View = {
  id: 'accuracy',
  title: 'Accuracy',
  about: 'Published and measured numbers against ours.',
  show: Accuracy,
};
