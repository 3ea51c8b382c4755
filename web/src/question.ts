// A view asks one question at a time: words, the files they name, and the answer as it comes.
import { useEffect, useState } from 'preact/hooks';

import { ask, type Told } from './engine';
import type { Row } from './format';
import { changed, DEFAULT_MACHINE, EDITED, machineText, parseChanges } from './machines';

export interface Asked {
  told?: Told; // the last answer; it stays while the next one is computed
  document?: Row; // its JSON
  words: string[];
  busy: boolean;
  progress: string;
  error?: string;
  built?: boolean; // the answer was computed when the page was built; the module here computes it again
}

interface First {
  words: string[];
  out: string;
}

/// The answer to the question of a page that is opened without one: a cold module needs a second for it.
const first: Promise<First | undefined> = fetch('first.json').then((response) => (response.ok ? (response.json() as Promise<First>) : undefined), () => undefined);

/// The machine of the address as a word, and the file that it names where values were changed.
export async function machineFiles(values: Record<string, string>): Promise<Record<string, string>> {
  const changes = parseChanges(values.set);
  if (Object.keys(changes).length === 0) return {};
  const text = await machineText(values.machine || DEFAULT_MACHINE);
  return text === undefined ? {} : { [EDITED]: changed(text, changes) };
}

export function machineWord(values: Record<string, string>): string {
  return values.set ? EDITED : values.machine || DEFAULT_MACHINE;
}

/// Only typing pauses for this long; the first question is asked at once.
const PAUSE_MS = 120;

export function useQuestion(words: string[], values: Record<string, string>): Asked {
  const key = JSON.stringify([words, values.machine, values.set]);
  const [asked, setAsked] = useState<Asked>({ words, busy: true, progress: '' });
  useEffect(() => {
    const stop = new AbortController();
    const began = asked.told === undefined;
    setAsked((old) => ({ ...old, busy: true, progress: '', error: undefined }));
    const timer = setTimeout(
      async () => {
        try {
          const files = await machineFiles(values);
          if (began && Object.keys(files).length === 0) {
            void first.then((known) => {
              if (stop.signal.aborted || JSON.stringify(known?.words) !== JSON.stringify(words)) return;
              setAsked((old) => (old.busy ? { ...old, built: true, document: JSON.parse(known?.out ?? '') as Row } : old));
            });
          }
          const told = await ask({
            words,
            files,
            signal: stop.signal,
            onProgress: (progress) => setAsked((old) => ({ ...old, progress })),
          });
          const error = told.exit === 0 ? undefined : told.err || `exit code ${told.exit}`;
          const document = told.out.startsWith('{') ? (JSON.parse(told.out) as Row) : undefined;
          setAsked((old) => ({
            words,
            busy: false,
            progress: '',
            built: false,
            error,
            told: error ? old.told : told,
            document: error ? old.document : document,
          }));
        } catch (failure) {
          if ((failure as Error).name === 'AbortError') return;
          setAsked((old) => ({ ...old, busy: false, error: String(failure) }));
        }
      },
      began ? 0 : PAUSE_MS,
    );
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [key]);
  return asked;
}

const lists = new Map<string, Promise<Row[]>>();

/// Rows of `cortado list WHAT`.
export function listOf(what: string): Promise<Row[]> {
  let list = lists.get(what);
  if (!list) {
    list = ask({ words: ['list', what, '--json'], minor: true }).then((told) => (JSON.parse(told.out) as Record<string, Row[]>)[what]);
    lists.set(what, list);
  }
  return list;
}

export function useNames(what: string | undefined): string[] {
  const [names, setNames] = useState<string[]>([]);
  useEffect(() => {
    if (what) void listOf(what).then((rows) => setNames(rows.map((row) => String(row.name))));
  }, [what]);
  return names;
}
