import { useEffect, useState } from 'preact/hooks';

import { ask } from '../engine';
import { save, type Row } from '../format';
import { changed, editable, EDITED, machineText, parseChanges, writeChanges } from '../machines';
import { machineFiles, machineWord, useQuestion } from '../question';
import { Form, setValue, Status, Table, useGrowing, valuesOf, type Field } from '../ui';
import type { View } from './view';

const FIELDS: Field[] = [
  { name: 'find', label: 'Find a value', initial: '', hint: 'part of a key, such as rate' },
  { name: 'gemm', label: 'Compare by: GEMM', initial: '16384x3584x8192' },
  { name: 'collective', label: 'and collective', initial: 'all-gather', options: ['all-gather', 'reduce-scatter', 'all-reduce', 'all-to-all'] },
];

const CONFIDENCE: Record<string, string> = {
  A: 'vendor',
  B: 'measured and published',
  C: 'third party',
  D: 'derived',
  assumption: 'assumption',
};

function setChange(values: Record<string, string>, key: string, value: string, original: string): void {
  const changes = parseChanges(values.set);
  if (value === original || value === '') delete changes[key];
  else changes[key] = value;
  setValue({ name: 'set', initial: '' }, writeChanges(changes));
}

/// Times of all strategies on the machine as it is and as it was changed.
function Compared({ values }: { values: Record<string, string> }) {
  const [rows, setRows] = useState<Row[]>([]);
  const key = JSON.stringify([values.machine, values.set, values.gemm, values.collective]);
  useEffect(() => {
    const stop = new AbortController();
    void (async () => {
      const words = (machine: string) => ['overlap', values.collective, '--gemm', values.gemm, '--machine', machine, '--json'];
      const files = await machineFiles(values);
      try {
        const [before, after] = await Promise.all([
          ask({ words: words(values.machine), signal: stop.signal }),
          ask({ words: words(EDITED), files, signal: stop.signal }),
        ]);
        if (before.exit !== 0 || after.exit !== 0) return setRows([]);
        const old = JSON.parse(before.out).rows as Row[];
        const now = JSON.parse(after.out).rows as Row[];
        setRows(
          now.map((row) => {
            const same = old.find((one) => one.strategy === row.strategy);
            const change = same ? (100 * (Number(row.time_us) - Number(same.time_us))) / Number(same.time_us) : null;
            return { strategy: row.strategy, before_us: same?.time_us ?? null, after_us: row.time_us, change_pct: change };
          }),
        );
      } catch {
        // another question was asked
      }
    })();
    return () => stop.abort();
  }, [key]);
  return (
    <Table
      caption="What changed: all strategies before and after, predicted"
      rows={rows}
      columns={[
        { key: 'strategy', label: 'strategy', text: true },
        { key: 'before_us', label: 'original, µs' },
        { key: 'after_us', label: 'changed, µs' },
        { key: 'change_pct', label: 'change, %' },
      ]}
    />
  );
}

function Machine() {
  const values = valuesOf(FIELDS);
  const original = useQuestion(['show', 'machine', values.machine, '--json'], { machine: values.machine });
  const checked = useQuestion(['show', 'machine', machineWord(values), '--json'], values);
  const [text, setText] = useState('');
  useEffect(() => {
    void machineText(values.machine).then((found) => setText(found ?? ''));
  }, [values.machine]);
  const changes = parseChanges(values.set);
  const keys = editable(text);
  const facts = ((original.document?.values ?? []) as Row[]).filter((fact) => String(fact.key).includes(values.find));
  const { shown, growing } = useGrowing(facts.length);
  return (
    <>
      <Form fields={FIELDS} />
      <Status asked={checked} name="machine" how="read" rows={(original.document?.values ?? []) as Row[]} />
      {values.set && (
        <section>
          <div class="tools">
            <button type="button" onClick={() => save(EDITED, changed(text, changes))}>
              download {EDITED}
            </button>
          </div>
          <Compared values={values} />
        </section>
      )}
      {original.document && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Values of the machine" aria-busy={growing}>
          <table class="long values">
            <caption>
              {String(original.document.title)}: {facts.length} values
            </caption>
            <colgroup>
              <col class="key" />
              <col class="value" />
              <col class="confidence" />
              <col />
            </colgroup>
            <thead>
              <tr>
                <th scope="col">key</th>
                <th scope="col">value</th>
                <th scope="col">confidence</th>
                <th scope="col">source</th>
              </tr>
            </thead>
            <tbody>
              {facts.slice(0, shown).map((fact) => {
                const key = String(fact.key);
                const value = String(fact.value);
                const now = changes[key] ?? value;
                return (
                  <tr key={key} class={key in changes ? 'marked' : ''}>
                    <td>
                      <code>{key}</code>
                    </td>
                    <td class="value" data-key={key} data-value={value}>
                      {keys.has(key) && value.length < 24 ? (
                        <input
                          type="text"
                          aria-label={key}
                          key={now} // it keeps what is being typed until the value itself changes
                          defaultValue={now}
                          onChange={(event) => {
                            const input = event.target as HTMLInputElement;
                            if (input.value.trim() === '') input.value = value;
                            setChange(values, key, input.value.trim(), value);
                          }}
                        />
                      ) : (
                        value
                      )}
                      {key in changes && <small> was {value}</small>}
                    </td>
                    <td>
                      {String(fact.confidence)} <small class="note">{CONFIDENCE[String(fact.confidence)] ?? ''}</small>
                    </td>
                    <td class="source">{key in changes ? 'changed here' : String(fact.source)}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

export const machine: View = {
  id: 'machine',
  title: 'Machine',
  about: 'Every number of a machine with its source. Change one, and all views compute with it.',
  show: Machine,
};
