// Which strategy wins over two extents of the GEMM, cell by cell while one watches.
import * as Plot from '@observablehq/plot';
import { useEffect, useRef, useState } from 'preact/hooks';

import { Chart } from '../chart';
import { ask } from '../engine';
import type { Row } from '../format';
import { machineFiles } from '../question';
import { Table } from '../ui';
import { problemWords } from './overlap';

const EXTENTS = ['rows', 'columns', 'depth'];
const STEPS = [-3, -2, -1, 0, 1, 2, 3];

interface Cell {
  x: number;
  y: number;
  gemm: string;
  winner: string;
  speedup: number;
}

export function WinnerMap({ values, onPick }: { values: Record<string, string>; onPick: (gemm: string) => void }) {
  const [cells, setCells] = useState<Cell[]>([]);
  const [running, setRunning] = useState(false);
  const stop = useRef<AbortController | undefined>(undefined);
  const [x, y] = values.axes.split(', ').map((name) => EXTENTS.indexOf(name));
  const key = JSON.stringify([problemWords(values), values.axes, values.set]);
  useEffect(() => {
    stop.current?.abort();
    setRunning(false);
    setCells([]);
    return () => stop.current?.abort();
  }, [key]);

  const start = async () => {
    const control = new AbortController();
    stop.current = control;
    setRunning(true);
    setCells([]);
    const files = await machineFiles(values);
    const centre = values.gemm.split(',')[0].split('x').map(Number);
    const near = (size: number, step: number) => Math.max(64, Math.round(size * 2 ** step));
    const points = STEPS.flatMap((i) => STEPS.map((j) => [i, j])).sort((a, b) => Math.hypot(a[0], a[1]) - Math.hypot(b[0], b[1]));
    await Promise.all(
      points.map(async ([i, j]) => {
        const shape = [...centre];
        shape[x] = near(centre[x], i);
        shape[y] = near(centre[y], j);
        const gemm = shape.join('x');
        const words = ['overlap', ...problemWords({ ...values, gemm }), '--strategy', 'auto', '--json'];
        try {
          const told = await ask({ words, files, signal: control.signal });
          if (told.exit !== 0 || control.signal.aborted) return;
          const document = JSON.parse(told.out) as Row;
          const best = (document.rows as Row[]).find((row) => row.strategy === document.choice);
          const cell = { x: shape[x], y: shape[y], gemm, winner: family(String(document.choice)), speedup: Number(best?.speedup ?? 1) };
          setCells((old) => [...old, cell]);
        } catch {
          // stopped
        }
      }),
    );
    if (!control.signal.aborted) setRunning(false);
  };
  const winners = [...new Set(cells.map((cell) => cell.winner))].sort();
  return (
    <section>
      <h3>Map of winners</h3>
      <p class="note">
        The fastest strategy (auto) for {STEPS.length ** 2} GEMMs around this one: {values.axes} from an eighth to eight times.
      </p>
      <div class="tools">
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
          <button type="button" onClick={start}>
            compute the map
          </button>
        )}
        <span role="status" class="num">
          {cells.length > 0 ? `${cells.length} of ${STEPS.length ** 2}` : ''}
        </span>
      </div>
      {cells.length > 0 && (
        <>
          <Chart
            title={`Winner over ${values.axes}`}
            about="Colour and name: the fastest strategy; number: speed-up over one after the other."
            name="winners"
            depends={[cells]}
            plot={(width) => ({
              height: Math.min(420, width),
              x: { label: EXTENTS[x], type: 'band', tickFormat: (value: number) => value.toLocaleString('en') },
              y: { label: EXTENTS[y], type: 'band', reverse: true, tickFormat: (value: number) => value.toLocaleString('en') },
              marginLeft: 70,
              color: { legend: true, domain: winners },
              marks: [
                Plot.cell(cells, { x: 'x', y: 'y', fill: 'winner', title: (cell: Cell) => `${cell.gemm}: ${cell.winner}, ${cell.speedup.toFixed(2)} times as fast`, tip: true }),
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
                {
                  key: 'gemm',
                  label: 'GEMM',
                  text: true,
                  show: (value) => (
                    <button type="button" onClick={() => onPick(String(value))}>
                      {String(value)}
                    </button>
                  ),
                },
                { key: 'winner', label: 'winner', text: true },
                { key: 'speedup', label: 'speed-up' },
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
