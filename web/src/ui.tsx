// What all views share: the form, the command line that gives the same numbers, errors and files.
import { useState } from 'preact/hooks';

import { csv, quoted, save, type Row } from './format';
import { useNames, type Asked } from './question';
import { go, place } from './state';

export { Table, useGrowing } from './table';

export interface Field {
  name: string;
  label: string;
  initial: string;
  list?: string; // of `cortado list`
  options?: string[];
  check?: boolean; // on is "yes", off is ""
  slider?: { from: number; to: number; of: (text: string) => number; with: (text: string, value: number) => string };
  hint?: string;
  when?: (values: Record<string, string>) => boolean;
}

export function valueOf(fields: Field[], name: string): string {
  return place.value.values[name] ?? fields.find((field) => field.name === name)?.initial ?? '';
}

/// All values of a form, those of the address before the defaults.
export function valuesOf(fields: Field[]): Record<string, string> {
  const values: Record<string, string> = {};
  for (const field of fields) values[field.name] = valueOf(fields, field.name);
  return { ...values, machine: place.value.values.machine ?? 'mi300x-8', set: place.value.values.set ?? '' };
}

export function setValue(field: Pick<Field, 'name' | 'initial'>, value: string): void {
  const { view, values } = place.value;
  const next = { ...values, [field.name]: value };
  if (value === field.initial) delete next[field.name];
  go({ view, values: next });
}

function Input({ field }: { field: Field }) {
  const names = useNames(field.list);
  const value = place.value.values[field.name] ?? field.initial;
  const id = `field-${field.name}`;
  const change = (event: Event) => setValue(field, (event.target as HTMLInputElement).value);
  const options = field.options ?? (field.list ? [...new Set([value, ...names])].filter(Boolean) : undefined);
  if (field.check) {
    return (
      <label class="check" for={id}>
        <input
          id={id}
          type="checkbox"
          checked={value !== ''}
          onChange={(event) => setValue(field, (event.target as HTMLInputElement).checked ? 'yes' : '')}
        />
        {field.label}
      </label>
    );
  }
  return (
    <div class="field">
      <label for={id}>{field.label}</label>
      {options ? (
        <select id={id} value={value} onChange={change}>
          {options.map((option) => (
            <option key={option} value={option}>
              {option}
            </option>
          ))}
        </select>
      ) : (
        <input id={id} type="text" value={value} spellcheck={false} onInput={change} aria-describedby={field.hint ? `${id}-hint` : undefined} />
      )}
      {field.slider && (
        <input
          type="range"
          aria-label={`${field.label}, slider`}
          min={field.slider.from}
          max={field.slider.to}
          step={1}
          value={field.slider.of(value)}
          onInput={(event) => setValue(field, field.slider?.with(value, Number((event.target as HTMLInputElement).value)) ?? '')}
        />
      )}
      {field.hint && (
        <small id={`${id}-hint`} class="note">
          {field.hint}
        </small>
      )}
    </div>
  );
}

const MACHINE: Field = { name: 'machine', label: 'Machine', initial: 'mi300x-8', list: 'machines' };

/// Without a machine where the question names its own.
export function Form({ fields, machine = true }: { fields: Field[]; machine?: boolean }) {
  const values = valuesOf(fields);
  return (
    <form class="form" onSubmit={(event) => event.preventDefault()}>
      {[...fields, ...(machine ? [MACHINE] : [])]
        .filter((field) => field.when?.(values) ?? true)
        .map((field) => (
          <Input key={field.name} field={field} />
        ))}
      {machine && values.set && (
        <p class="field changed-note">
          <strong>Changed machine:</strong> {values.set.split(';').join(', ')}{' '}
          <button type="button" onClick={() => setValue({ name: 'set', initial: '' }, '')}>
            back to the original
          </button>
        </p>
      )}
    </form>
  );
}

/// The answer's state, the same question for a terminal, and its files.
export function Status({ asked, name, rows, how = 'predicted' }: { asked: Asked; name: string; rows?: Row[]; how?: string }) {
  const [copied, setCopied] = useState('');
  const line = `cortado ${quoted(asked.words)}`;
  const copy = async (what: string, text: string) => {
    await navigator.clipboard.writeText(text);
    setCopied(what);
    setTimeout(() => setCopied(''), 2000);
  };
  return (
    <div class="status">
      <div class="command">
        <code data-testid="command">{line}</code>
        <span class="tools">
          <button type="button" onClick={() => copy('command', line)}>
            copy
          </button>
          <button type="button" onClick={() => copy('link', location.href)}>
            copy link
          </button>
          <button type="button" disabled={!asked.told} onClick={() => save(`${name}.json`, asked.told?.out ?? '', 'application/json')}>
            JSON
          </button>
          {rows && (
            <button type="button" onClick={() => save(`${name}.csv`, csv(rows), 'text/csv')}>
              CSV
            </button>
          )}
        </span>
      </div>
      <p class="state" role="status" data-busy={asked.busy ? 'yes' : 'no'}>
        {copied
          ? `${copied} copied`
          : asked.busy
            ? `${asked.built ? 'predicted when this page was built; ' : ''}computing ${asked.progress}`
            : asked.told && !asked.error
              ? `${how} by the simulator in this page, ${Math.round(asked.told.ms)} ms`
              : ''}
      </p>
      {asked.error && <Problem text={asked.error} />}
    </div>
  );
}

/// A diagnostic of the command line: code, what is wrong, and the hint.
export function Problem({ text }: { text: string }) {
  return (
    <div class="problem" role="alert">
      {text
        .split('\n')
        .filter((line) => line.trim() !== '')
        .map((line) => {
          const match = line.match(/^cortado: error: ([\w.-]+): (.*?)(?: \(hint: (.*)\))?$/);
          if (!match) return <p key={line}>{line.replace(/^cortado: /, '')}</p>;
          return (
            <p key={line}>
              <strong>{match[2]}</strong> <code>{match[1]}</code>
              {match[3] && <span class="hint">{match[3]}</span>}
            </p>
          );
        })}
    </div>
  );
}
