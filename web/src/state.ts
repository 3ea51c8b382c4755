// What is shown stands in the address: #/view?name=value&... A link opens the same picture.
import { signal } from '@preact/signals';

export interface Place {
  view: string;
  values: Record<string, string>; // those that differ from the defaults of the view
}

function read(): Place {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  return { view: path || 'overlap', values: Object.fromEntries(new URLSearchParams(query ?? '')) };
}

export function address({ view, values }: Place): string {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== '')).toString();
  return `#/${view}${query ? `?${query}` : ''}`;
}

export const place = signal<Place>(read());

addEventListener('hashchange', () => {
  place.value = read();
});

/// Typing replaces the entry of the history; going to another view adds one.
export function go(next: Place): void {
  const hash = address(next);
  if (hash === location.hash) return;
  if (next.view === place.value.view) history.replaceState(null, '', hash);
  else history.pushState(null, '', hash);
  place.value = next;
}

addEventListener('popstate', () => {
  place.value = read();
});

/// Values that all views share: the machine and what was changed in it.
export const SHARED = ['machine', 'set'];

export function toView(view: string): Place {
  const { values } = place.value;
  return { view, values: Object.fromEntries(SHARED.filter((name) => values[name]).map((name) => [name, values[name]])) };
}
