// Work of the main thread in small tasks: one piece each, so that keys and the pointer are heard between them.
type Piece = { work: () => void; signal?: AbortSignal };

const pieces: Piece[] = [];
const channel = new MessageChannel();

channel.port1.onmessage = () => {
  let piece = pieces.shift();
  while (piece?.signal?.aborted) piece = pieces.shift();
  if (pieces.length > 0) channel.port2.postMessage(null);
  piece?.work();
};

/// Does the work in a task of its own, after those asked for before; not at all once the signal is aborted.
export function soon(work: () => void, signal?: AbortSignal): void {
  pieces.push({ work, signal });
  if (pieces.length === 1) channel.port2.postMessage(null);
}
