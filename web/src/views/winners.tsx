// Which strategy wins over two axes, cell by cell while one watches.
import { useEffect, useRef, useState } from 'preact/hooks';

import { Chart } from '../chart';
import { ask } from '../engine';
import { number, type Row } from '../format';
import { machineFiles } from '../question';
import { setValue, Table } from '../ui';
import { axesOf, stepped, type Axis } from './axes';
import { problemWords } from './overlap';

type Values = Record<string, string>;

const STEPS = [-3, -2, -1, 0, 1, 2, 3];
const CELLS = STEPS.length ** 2;

interface Cell {
  x: number;
  y: number;
  picked: Values;
  winner: string;
  speedup: number;
}

export const AXES = { x: { name: 'x', initial: 'rows' }, y: { name: 'y', initial: 'depth' } };

function Choice({ axes, label, field, value }: { axes: Axis[]; label: string; field: { name: string; initial: string }; value: string }) {
  return (
    <div class="field">
      <label for={`map-${field.name}`}>{label}</label>
      <select id={`map-${field.name}`} value={value} onChange={(event) => setValue(field, (event.target as HTMLSelectElement).value)}>
        {['question', 'machine'].map((group) => (
          <optgroup key={group} label={group === 'question' ? 'GEMM and collective' : 'machine'}>
            {axes
              .filter((axis) => axis.group === group)
              .map((axis) => (
                <option key={axis.id} value={axis.id}>
                  {axis.label}
                </option>
              ))}
          </optgroup>
        ))}
      </select>
    </div>
  );
}

async function compute(values: Values, x: Axis, y: Axis, signal: AbortSignal, found: (cell: Cell) => void, refused: (why: string) => void): Promise<void> {
  const points = STEPS.flatMap((i) => STEPS.map((j) => [i, j])).sort((a, b) => Math.hypot(a[0], a[1]) - Math.hypot(b[0], b[1]));
  await Promise.all(
    points.map(async ([i, j]) => {
      const at = { x: stepped(x, i), y: stepped(y, j) };
      const across = x.at(values, at.x);
      const picked = { ...across, ...y.at({ ...values, ...across }, at.y) };
      const there = { ...values, ...picked };
      try {
        const told = await ask({ words: ['overlap', ...problemWords(there), '--strategy', 'auto', '--json'], files: await machineFiles(there), signal });
        if (signal.aborted) return;
        if (told.exit !== 0) return refused(told.err);
        const document = JSON.parse(told.out) as Row;
        const best = (document.rows as Row[]).find((row) => row.strategy === document.choice);
        found({ ...at, picked, winner: family(String(document.choice)), speedup: Number(best?.speedup ?? 1) });
      } catch {
        // stopped
      }
    }),
  );
}

export function WinnerMap({ values, onPick }: { values: Values; onPick: (picked: Values) => void }) {
  const [axes, setAxes] = useState<Axis[]>([]);
  const [cells, setCells] = useState<Cell[]>([]);
  const [refusals, setRefusals] = useState<string[]>([]);
  const [running, setRunning] = useState(false);
  const stop = useRef<AbortController | undefined>(undefined);
  const key = JSON.stringify([problemWords(values), values.x, values.y, values.machine, values.set]);
  useEffect(() => {
    let current = true;
    setRunning(false);
    setCells([]);
    setRefusals([]);
    void axesOf(values).then((all) => current && setAxes(all));
    return () => {
      current = false;
      stop.current?.abort();
    };
  }, [key]);
  const x = axes.find((axis) => axis.id === values.x);
  const y = axes.find((axis) => axis.id === values.y);

  const start = async () => {
    if (!x || !y) return;
    const control = new AbortController();
    stop.current = control;
    setRunning(true);
    setCells([]);
    setRefusals([]);
    await compute(values, x, y, control.signal, (cell) => setCells((old) => [...old, cell]), (why) => setRefusals((old) => [...old, why]));
    if (!control.signal.aborted) setRunning(false);
  };
  const winners = [...new Set(cells.map((cell) => cell.winner))].sort();
  return (
    <section>
      <h3>Map of winners</h3>
      <p class="note">The fastest strategy (auto) at {CELLS} points around this one: both axes from an eighth to eight times.</p>
      <div class="tools">
        <Choice axes={axes} label="To the right" field={AXES.x} value={values.x} />
        <Choice axes={axes} label="Upwards" field={AXES.y} value={values.y} />
        {running ? (
          <button
            type="button"
            onClick={() => {
              stop.current?.abort();
              setRunning(false);
            }}
          >
            stop
          </button>
        ) : (
          <button type="button" onClick={start} disabled={!x || !y || x === y}>
            compute the map
          </button>
        )}
        <span role="status" class="num">
          {cells.length + refusals.length > 0 ? `${cells.length + refusals.length} of ${CELLS}` : ''}
        </span>
      </div>
      {refusals.length > 0 && (
        <p class="note">
          {refusals.length} points cannot be computed: {refusals[0]}
        </p>
      )}
      {cells.length > 0 && x && y && (
        <>
          <Chart
            title={`Winner over ${x.label} and ${y.label}`}
            about="Colour and name: the fastest strategy; number: speed-up over one after the other."
            name="winners"
            depends={[cells]}
            plot={(Plot, width) => ({
              height: Math.min(420, width),
              x: { label: x.label, type: 'band', tickFormat: number },
              y: { label: y.label, type: 'band', reverse: true, tickFormat: number },
              marginLeft: 90,
              color: { legend: true, domain: winners },
              marks: [
                Plot.cell(cells, { x: 'x', y: 'y', fill: 'winner', title: (cell: Cell) => `${x.label} ${number(cell.x)}, ${y.label} ${number(cell.y)}: ${cell.winner}, ${cell.speedup.toFixed(2)} times as fast`, tip: true }),
                Plot.text(cells, { x: 'x', y: 'y', text: (cell: Cell) => cell.speedup.toFixed(2), fill: 'white', stroke: 'black', strokeWidth: 2.5 }),
              ],
            })}
          />
          <details>
            <summary>The map as a table</summary>
            <Table
              caption="Winners"
              rows={cells.toSorted((a, b) => a.y - b.y || a.x - b.x) as unknown as Row[]}
              columns={[
                { key: 'x', label: x.label },
                { key: 'y', label: y.label },
                { key: 'winner', label: 'winner', text: true },
                { key: 'speedup', label: 'speed-up' },
                {
                  key: 'picked',
                  label: 'question',
                  text: true,
                  of: (row) => Object.values(row.picked as Values).join(' '),
                  show: (value, row) => (
                    <button type="button" aria-label={`show ${String(value)}`} onClick={() => onPick(row.picked as Values)}>
                      show
                    </button>
                  ),
                },
              ]}
            />
          </details>
        </>
      )}
    </section>
  );
}

/// hetero-fused-1d/8 and hetero-fused-1d/4 are one colour.
function family(strategy: string): string {
  return strategy.split('/')[0];
}
