// Machine files, as the simulator has them built in, and changes to single values of one.
const files = import.meta.glob('../../machines/*.toml', { query: '?raw', import: 'default' }) as Record<
  string,
  () => Promise<string>
>;

export const DEFAULT_MACHINE = 'mi300x-8';
export const EDITED = 'edited.toml';

export type Changes = Record<string, string>; // "links.rate_GBps" -> "60"

export function parseChanges(text: string | undefined): Changes {
  const changes: Changes = {};
  for (const part of (text ?? '').split(';')) {
    const at = part.indexOf('=');
    if (at > 0) changes[part.slice(0, at)] = part.slice(at + 1);
  }
  return changes;
}

export function writeChanges(changes: Changes): string {
  return Object.entries(changes)
    .map(([key, value]) => `${key}=${value}`)
    .join(';');
}

export async function machineText(name: string): Promise<string | undefined> {
  return files[`../../machines/${name}.toml`]?.();
}

const LINE = /^(\s*)([A-Za-z0-9_-]+)(\s*=\s*\{\s*value\s*=\s*)(.+?)(\s*,\s*source\s*=.*)$/;

/// Values that stand on one line as `key = { value = ..., source = ... }`, by "table.key".
export function editable(text: string): Set<string> {
  const keys = new Set<string>();
  eachLine(text, (key) => keys.add(key));
  return keys;
}

/// Those of them that are numbers greater than 0. A whole number stays one when it is changed.
export function numbers(text: string): { key: string; value: number; whole: boolean }[] {
  const found: { key: string; value: number; whole: boolean }[] = [];
  eachLine(text, (key, match) => {
    if (/^\d[\d_]*(\.\d+)?$/.test(match[4]) && Number(match[4].replaceAll('_', '')) > 0) {
      found.push({ key, value: Number(match[4].replaceAll('_', '')), whole: !match[4].includes('.') });
    }
  });
  return found;
}

function eachLine(text: string, at: (key: string, match: RegExpMatchArray, line: number) => void): string[] {
  const lines = text.split('\n');
  let table = '';
  lines.forEach((line, number) => {
    const head = line.match(/^\s*\[([^\]]+)\]\s*(#.*)?$/);
    if (head) table = head[1];
    const match = line.match(LINE);
    if (match) at(table ? `${table}.${match[2]}` : match[2], match, number);
  });
  return lines;
}

/// The file with these values. What was changed says so in its source, and is an assumption.
export function changed(text: string, changes: Changes): string {
  const edits: [number, string][] = [];
  const lines = eachLine(text, (key, match, line) => {
    if (!(key in changes)) return;
    edits.push([
      line,
      `${match[1]}${match[2]}${match[3]}${changes[key]}, source = "changed in the explorer", confidence = "assumption" }`,
    ]);
  });
  for (const [line, replacement] of edits) lines[line] = replacement;
  return lines.join('\n');
}
