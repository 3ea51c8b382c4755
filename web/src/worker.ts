// Runs command lines beside the page, so that the page never waits for them.
import { buffersOf, readTrace, type Trace } from './trace';
import { runWords, type Answer } from './wasi';

export interface Question {
  id: number;
  words: string[];
  files: Record<string, string>;
  trace?: boolean; // the words write trace.json, which comes back as a Trace and as a file
}

export type Reply =
  | { id: number; progress: string }
  | { id: number; answer: Answer; trace?: Trace; perfetto?: Blob }
  | { id: number; failed: string };

declare const self: DedicatedWorkerGlobalScope;

let module: Promise<WebAssembly.Module> | undefined;

self.onmessage = async (message: MessageEvent<Question | { module: WebAssembly.Module }>) => {
  if ('module' in message.data) {
    module = Promise.resolve(message.data.module);
    return;
  }
  const { id, words, files, trace } = message.data;
  try {
    if (!module) throw new Error('no module');
    const compiled = await module;
    const answer = runWords(compiled, words, files, (progress) => self.postMessage({ id, progress } satisfies Reply));
    const json = answer.files['trace.json'];
    if (!trace || !json) {
      self.postMessage({ id, answer } satisfies Reply);
      return;
    }
    // Arrays are handed over and the file stays outside of the page's memory: millions of bytes would halt the page.
    const read = readTrace(json);
    delete answer.files['trace.json'];
    const perfetto = new Blob([json], { type: 'application/json' });
    self.postMessage({ id, answer, trace: read, perfetto } satisfies Reply, buffersOf(read));
  } catch (error) {
    self.postMessage({ id, failed: String(error) } satisfies Reply);
  }
};
