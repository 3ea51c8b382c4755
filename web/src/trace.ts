// A Perfetto trace as arrays that a canvas draws from.
export const KINDS = ['compute', 'communication', 'wait', 'synchronization', 'host'] as const;
export type Kind = (typeof KINDS)[number];

export interface Lane {
  name: string;
  rank: number; // -1: the host
  from: number; // spans of the lane: [from, to), by time
  to: number;
}

export interface Trace {
  lanes: Lane[];
  start: Float64Array; // us
  end: Float64Array;
  kind: Uint8Array; // index of KINDS
  texts: Uint8Array; // what a span is, one after the other: name, command, bytes
  textFrom: Uint32Array; // where the text of a span begins, and where the last one ends
  arrows: Float64Array; // by four: lane and time where a signal is raised, lane and time where it is awaited
  ranks: number;
  end_us: number;
}

interface Event {
  ph: string;
  pid: number;
  tid: number;
  ts: number;
  dur?: number;
  name: string;
  cat?: string;
  id?: number;
  args?: Record<string, unknown>;
}

export function readTrace(json: string): Trace {
  const events = (JSON.parse(json) as { traceEvents: Event[] }).traceEvents;
  const ranks = new Map<number, number>();
  const names = new Map<number, { name: string; rank: number; sort: number }>();
  for (const e of events) {
    if (e.ph !== 'M') continue;
    if (e.name === 'process_name') {
      const title = String(e.args?.name);
      ranks.set(e.pid, title.startsWith('rank ') ? Number(title.slice(5)) : -1);
    } else if (e.name === 'thread_name') {
      names.set(e.tid, { name: String(e.args?.name), rank: ranks.get(e.pid) ?? -1, sort: 0 });
    } else if (e.name === 'thread_sort_index') {
      const lane = names.get(e.tid);
      if (lane) lane.sort = Number(e.args?.sort_index);
    }
  }
  const byLane = new Map<number, Event[]>();
  for (const e of events) {
    if (e.ph !== 'X') continue;
    const list = byLane.get(e.tid);
    if (list) list.push(e);
    else byLane.set(e.tid, [e]);
  }
  const threads = [...names.entries()]
    .filter(([tid]) => byLane.has(tid))
    .sort(([, a], [, b]) => a.rank - b.rank || a.sort - b.sort);
  const count = [...byLane.values()].reduce((sum, list) => sum + list.length, 0);
  const trace: Trace = {
    lanes: [],
    start: new Float64Array(count),
    end: new Float64Array(count),
    kind: new Uint8Array(count),
    texts: new Uint8Array(0),
    textFrom: new Uint32Array(count + 1),
    arrows: new Float64Array(0),
    ranks: [...ranks.values()].filter((rank) => rank >= 0).length,
    end_us: 0,
  };
  const laneOf = new Map<number, number>();
  const encoder = new TextEncoder();
  const texts: Uint8Array[] = [];
  let at = 0;
  for (const [tid, { name, rank }] of threads) {
    const from = at;
    for (const e of byLane.get(tid) ?? []) {
      trace.start[at] = e.ts;
      trace.end[at] = e.ts + (e.dur ?? 0);
      trace.kind[at] = Math.max(0, KINDS.indexOf(e.cat as Kind));
      trace.end_us = Math.max(trace.end_us, trace.end[at]);
      const bytes = e.args?.bytes;
      const text = encoder.encode(
        `${e.name}${e.args?.command ? ` — ${String(e.args.command)}` : ''}${bytes ? `, ${Number(bytes).toLocaleString('en')} bytes` : ''}`,
      );
      texts.push(text);
      ++at;
      trace.textFrom[at] = trace.textFrom[at - 1] + text.length;
    }
    laneOf.set(tid, trace.lanes.length);
    trace.lanes.push({ name, rank, from, to: at });
  }
  const begun = new Map<number, Event>();
  const arrows: number[] = [];
  for (const e of events) {
    if (e.ph === 's' && e.id !== undefined) begun.set(e.id, e);
    if (e.ph !== 'f' || e.id === undefined) continue;
    const from = begun.get(e.id);
    if (from) arrows.push(laneOf.get(from.tid) ?? 0, from.ts, laneOf.get(e.tid) ?? 0, e.ts);
  }
  trace.arrows = Float64Array.from(arrows);
  trace.texts = new Uint8Array(trace.textFrom[count]);
  texts.forEach((text, i) => trace.texts.set(text, trace.textFrom[i]));
  return trace;
}

export function textOf(trace: Trace, i: number): string {
  return new TextDecoder().decode(trace.texts.subarray(trace.textFrom[i], trace.textFrom[i + 1]));
}

/// What another thread can take over instead of copying it.
export function buffersOf(trace: Trace): ArrayBuffer[] {
  return [trace.start, trace.end, trace.kind, trace.texts, trace.textFrom, trace.arrows].map((array) => array.buffer as ArrayBuffer);
}

/// When no compute kernel of the rank runs, before the end: what communication does not hide.
export function exposed(trace: Trace, rank: number): [number, number][] {
  const busy: [number, number][] = [];
  for (const lane of trace.lanes) {
    if (lane.rank !== rank) continue;
    for (let i = lane.from; i < lane.to; ++i) {
      if (KINDS[trace.kind[i]] === 'compute') busy.push([trace.start[i], trace.end[i]]);
    }
  }
  busy.sort((a, b) => a[0] - b[0]);
  const free: [number, number][] = [];
  let end = 0;
  for (const [from, to] of busy) {
    if (from > end) free.push([end, from]);
    end = Math.max(end, to);
  }
  if (end < trace.end_us) free.push([end, trace.end_us]);
  return free;
}
