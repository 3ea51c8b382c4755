// Asks the workers. The module is compiled once and shared; answers are kept; a question nobody waits for is dropped.
import wasmUrl from '../../build/wasm/apps/cli/cortado.wasm?url';

import type { Trace } from './trace';
import type { Answer } from './wasi';
import type { Question, Reply } from './worker';

export interface Ask {
  words: string[];
  files?: Record<string, string>;
  trace?: boolean;
  onProgress?: (line: string) => void;
  signal?: AbortSignal;
}

export type Told = Answer & { trace?: Trace };

interface Job {
  ask: Ask;
  resolve: (told: Told) => void;
  reject: (error: Error) => void;
}

const KEPT = 200;
const compiled = WebAssembly.compileStreaming(fetch(wasmUrl));
const kept = new Map<string, Told>();
const waiting: Job[] = [];

class Seat {
  private worker: Worker | undefined;
  private job: Job | undefined;
  private next = 0;

  get free(): boolean {
    return this.job === undefined;
  }

  async take(job: Job): Promise<void> {
    this.job = job;
    job.ask.signal?.addEventListener('abort', () => this.stop(job), { once: true });
    try {
      if (!this.worker) {
        this.worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
        this.worker.onmessage = (message: MessageEvent<Reply>) => this.hear(message.data);
        this.worker.onerror = (event) => this.end((job) => job.reject(new Error(event.message || 'the worker failed')));
        this.worker.postMessage({ module: await compiled });
      }
      if (this.job !== job) return;
      const { words, files, trace } = job.ask;
      this.worker.postMessage({ id: ++this.next, words, files: files ?? {}, trace } satisfies Question);
    } catch (error) {
      this.end((job) => job.reject(error as Error));
    }
  }

  private hear(reply: Reply): void {
    if (reply.id !== this.next || !this.job) return;
    if ('progress' in reply) this.job.ask.onProgress?.(reply.progress);
    else if ('failed' in reply) this.end((job) => job.reject(new Error(reply.failed)));
    else this.end((job) => job.resolve({ ...reply.answer, trace: reply.trace }));
  }

  /// A command cannot be interrupted: the worker ends, and the next one starts in a few milliseconds.
  private stop(job: Job): void {
    if (this.job !== job) return;
    this.worker?.terminate();
    this.worker = undefined;
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

function give(): void {
  for (const seat of seats) {
    while (waiting[0]?.ask.signal?.aborted) waiting.shift()?.reject(new DOMException('stopped', 'AbortError'));
    if (waiting.length === 0) return;
    if (seat.free) void seat.take(waiting.shift() as Job);
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
