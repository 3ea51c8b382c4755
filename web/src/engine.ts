// Asks the workers. The module is compiled once and shared; answers are kept; a question nobody waits for is dropped.
import wasmUrl from '../../build/wasm/apps/cli/cortado.wasm?url';

import type { Trace } from './trace';
import type { Answer } from './wasi';
import type { Question, Reply } from './worker';

export interface Ask {
  words: string[];
  files?: Record<string, string>;
  trace?: boolean;
  minor?: boolean; // waits until the first answer of the page is there: its worker alone has the processor until then
  onProgress?: (line: string) => void;
  signal?: AbortSignal;
}

export type Told = Answer & { trace?: Trace; perfetto?: Blob };

interface Job {
  ask: Ask;
  resolve: (told: Told) => void;
  reject: (error: Error) => void;
}

const KEPT = 200;
const compiled = WebAssembly.compileStreaming(fetch(wasmUrl));
const kept = new Map<string, Told>();
const waiting: Job[] = [];
let answered = false;

class Seat {
  private worker: Promise<Worker> | undefined;
  private job: Job | undefined;
  private next = 0;

  get free(): boolean {
    return this.job === undefined;
  }

  async take(job: Job): Promise<void> {
    this.job = job;
    job.ask.signal?.addEventListener('abort', () => this.stop(job), { once: true });
    try {
      const worker = await this.ready();
      if (this.job !== job) return;
      const { words, files, trace } = job.ask;
      worker.postMessage({ id: ++this.next, words, files: files ?? {}, trace } satisfies Question);
    } catch (error) {
      this.end((job) => job.reject(error as Error));
    }
  }

  /// A worker that has the module. The first one starts with the page, before anything is asked.
  ready(): Promise<Worker> {
    this.worker ??= this.start();
    return this.worker;
  }

  private async start(): Promise<Worker> {
    const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
    worker.onmessage = (message: MessageEvent<Reply>) => this.hear(message.data);
    worker.onerror = (event) => this.end((job) => job.reject(new Error(event.message || 'the worker failed')));
    worker.postMessage({ module: await compiled });
    return worker;
  }

  private hear(reply: Reply): void {
    if (reply.id !== this.next || !this.job) return;
    if ('progress' in reply) this.job.ask.onProgress?.(reply.progress);
    else if ('failed' in reply) this.end((job) => job.reject(new Error(reply.failed)));
    else {
      answered = true;
      this.end((job) => job.resolve({ ...reply.answer, trace: reply.trace, perfetto: reply.perfetto }));
    }
  }

  /// A command cannot be interrupted: the worker ends, and the next one starts in a few milliseconds.
  private stop(job: Job): void {
    if (this.job !== job) return;
    void this.worker?.then((worker) => worker.terminate());
    this.worker = undefined;
    ++this.next; // what it may have said already answers nobody
    this.end((ended) => ended.reject(new DOMException('stopped', 'AbortError')));
  }

  private end(tell: (job: Job) => void): void {
    const job = this.job;
    this.job = undefined;
    if (job) tell(job);
    give();
  }
}

const seats = Array.from({ length: Math.max(1, Math.min(4, navigator.hardwareConcurrency || 2)) }, () => new Seat());
void seats[0].ready().catch(() => undefined); // who asks hears of it

function give(): void {
  for (let i = waiting.length - 1; i >= 0; --i) {
    if (waiting[i].ask.signal?.aborted) waiting.splice(i, 1)[0].reject(new DOMException('stopped', 'AbortError'));
  }
  for (const seat of seats) {
    if (!seat.free) continue;
    const next = waiting.findIndex((job) => answered || !job.ask.minor);
    if (next < 0) return;
    void seat.take(waiting.splice(next, 1)[0]);
  }
}

export function ask(question: Ask): Promise<Told> {
  const key = JSON.stringify([question.words, question.files ?? {}, question.trace ?? false]);
  const known = kept.get(key);
  if (known) return Promise.resolve(known);
  return new Promise<Told>((resolve, reject) => {
    const keep = (told: Told) => {
      kept.set(key, told);
      if (kept.size > KEPT) kept.delete(kept.keys().next().value as string);
      resolve(told);
    };
    waiting.push({ ask: question, resolve: keep, reject });
    give();
  });
}
