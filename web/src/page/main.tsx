// A page of the command line (--html): its data stand in the page, and it is drawn by what draws the explorer.
import { render } from 'preact';
import { useMemo, useState } from 'preact/hooks';

import { ALL_RANKS, type Strip } from '../draw';
import { csv, save } from '../format';
import { Table, type Column as Shown } from '../table';
import { Timelines } from '../timeline';
import { readTrace } from '../trace';
import { headOf, isShown, jsonOf, recordsOf, textOf, valueOf, type Answer, type Cell, type Page, type TableOf } from './answer';
import { Charts } from './charts';

type Line = { cells: Cell[] };

function Answers({ table, caption }: { table: TableOf; caption: string }) {
  const rows = useMemo(() => table.rows.map((cells) => ({ cells })), [table]);
  const columns = useMemo<Shown[]>(
    () =>
      table.columns.flatMap((column, i) =>
        isShown(table, i)
          ? [
              {
                key: column.key,
                label: headOf(column),
                text: !table.rows.some((row) => typeof valueOf(row[i]) === 'number'),
                long: table.rows.some((row) => textOf(row[i], column).length > 60),
                of: (row) => valueOf((row as Line).cells[i]),
                show: (_, row) => textOf((row as Line).cells[i], column),
              },
            ]
          : [],
      ),
    [table],
  );
  return columns.length > 0 ? <Table caption={caption} columns={columns} rows={rows} /> : null;
}

function Ranks({ strips, title }: { strips: Strip[]; title: string }) {
  const ranks = Math.max(...strips.map((strip) => strip.trace?.ranks ?? 0));
  const [rank, setRank] = useState(ranks > 4 ? 0 : ALL_RANKS);
  const [arrows, setArrows] = useState(false);
  return (
    <section>
      <h3>{title}</h3>
      <div class="tools">
        {ranks > 1 && (
          <label>
            GPU{' '}
            <select value={rank} onChange={(event) => setRank(Number((event.target as HTMLSelectElement).value))}>
              <option value={ALL_RANKS}>all</option>
              {Array.from({ length: ranks }, (_, i) => (
                <option key={i} value={i}>
                  {i}
                </option>
              ))}
            </select>
          </label>
        )}
        <label>
          <input type="checkbox" checked={arrows} onChange={(event) => setArrows((event.target as HTMLInputElement).checked)} /> arrows: who waits for whom
        </label>
      </div>
      <Timelines strips={strips} rank={rank} arrows={arrows} />
    </section>
  );
}

function Document({ answer, number, alone }: { answer: Answer; number: number; alone: boolean }) {
  const strips = useMemo(
    () =>
      [...document.querySelectorAll<HTMLScriptElement>(`script.timeline[data-document="${number}"]`)].map((element): Strip => {
        const json = element.textContent ?? '';
        const trace = readTrace(json);
        return { name: element.dataset.title ?? '', time_us: trace.end_us, trace, perfetto: new Blob([json], { type: 'application/json' }) };
      }),
    [number],
  );
  const name = answer.schema.replace('cortado.', '');
  const first = answer.tables[0];
  return (
    <section>
      {!alone && <h2>{answer.title}</h2>}
      <p class="tools">
        <strong class="how">{answer.measured ? 'measured' : 'predicted'}</strong>
        {first && (
          <>
            <button type="button" onClick={() => save(`${name}.json`, `${JSON.stringify(jsonOf(answer), null, 2)}\n`, 'application/json')}>
              JSON
            </button>
            <button type="button" onClick={() => save(`${name}.csv`, csv(recordsOf(answer, first)), 'text/csv')}>
              CSV
            </button>
          </>
        )}
      </p>
      {answer.answer.map((line) => (
        <p key={line} class="answer">
          {line}
        </p>
      ))}
      {answer.about.map((line) => (
        <p key={line} class="note">
          {line}
        </p>
      ))}
      {answer.tables.map((table) => (
        <section key={table.key}>
          {table.title && table.shown && table.charts.some((chart) => chart.title !== table.title) && <h3>{table.title}</h3>}
          <Charts table={table} name={name} />
          {table.shown && <Answers table={table} caption={table.title || answer.title} />}
        </section>
      ))}
      {strips.length > 0 && <Ranks strips={strips} title="Over time" />}
      {answer.notes.map((line) => (
        <p key={line} class="note">
          {line}
        </p>
      ))}
    </section>
  );
}

function Shell({ page }: { page: Page }) {
  const [copied, setCopied] = useState(false);
  const origin = [page.version && `Cortado ${page.version}`, page.date].filter(Boolean).join(', ');
  return (
    <>
      <header>
        <h1>{page.title}</h1>
        {page.command && (
          <div class="command">
            <code data-testid="command">{page.command}</code>
            <span class="tools">
              <button
                type="button"
                onClick={() => {
                  void navigator.clipboard.writeText(page.command);
                  setCopied(true);
                  setTimeout(() => setCopied(false), 2000);
                }}
              >
                copy
              </button>
              <span role="status">{copied ? 'copied' : ''}</span>
            </span>
          </div>
        )}
        <p class="note" data-testid="origin">
          {origin}
        </p>
      </header>
      <main>
        {page.documents.map((answer, i) => (
          <Document key={i} answer={answer} number={i} alone={page.documents.length === 1} />
        ))}
      </main>
    </>
  );
}

const root = document.getElementById('app');
const data = document.getElementById('data')?.textContent;
if (root && data) {
  const page = JSON.parse(data) as Page;
  // What stood there is for readers without JavaScript.
  root.replaceChildren();
  render(<Shell page={page} />, root);
}
