// The command line as a function: words in, output and files out. Every call is a new instance of the module, as every
// command is a new process in a terminal.
import { ConsoleStdout, Directory, File, Inode, OpenFile, PreopenDirectory, WASI, wasi as defs } from '@bjorn3/browser_wasi_shim';

export interface Answer {
  exit: number;
  out: string;
  err: string; // without lines of progress
  files: Record<string, string>; // that the command wrote
  ms: number;
}

/// The folder of the command. The C library asks for rights before it writes: this one grants all.
class Folder extends PreopenDirectory {
  override fd_fdstat_get() {
    const fdstat = new defs.Fdstat(defs.FILETYPE_DIRECTORY, 0);
    fdstat.fs_rights_base = ~0n;
    fdstat.fs_rights_inherited = ~0n;
    return { ret: 0, fdstat };
  }
}

const ERASE = '\r\x1b[K';

/// Lines of progress go to `progress` while the command runs: standard error is a terminal, standard output a file.
export function runWords(
  module: WebAssembly.Module,
  words: string[],
  files: Record<string, string>,
  progress: (line: string) => void,
): Answer {
  const began = performance.now();
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  const entries = new Map<string, Inode>();
  for (const [name, text] of Object.entries(files)) entries.set(name, new File(encoder.encode(text)));
  const out = new File([]);
  let err = '';
  const errors = new ConsoleStdout((bytes) => {
    const text = decoder.decode(bytes, { stream: true });
    err += text;
    if (text.startsWith(ERASE)) progress(text.slice(ERASE.length).trim());
  });
  const folder = new Folder('.', entries);
  const wasi = new WASI(['cortado', ...words], [], [new OpenFile(new File([])), new OpenFile(out), errors, folder], {
    debug: false,
  });
  const instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: wasi.wasiImport });
  let exit: number;
  try {
    exit = wasi.start(instance as Parameters<WASI['start']>[0]);
  } catch (trap) {
    exit = 70;
    err += `cortado: error: internal: ${String(trap)}\n`;
  }
  const written: Record<string, string> = {};
  collect(folder.dir, '', files, written, new TextDecoder());
  return {
    exit,
    out: new TextDecoder().decode(out.data),
    err: err.split('\n').map((line) => line.slice(line.lastIndexOf(ERASE) + 1).replace('\x1b[K', '')).join('\n'),
    files: written,
    ms: performance.now() - began,
  };
}

function collect(
  directory: Directory,
  prefix: string,
  given: Record<string, string>,
  written: Record<string, string>,
  decoder: TextDecoder,
): void {
  for (const [name, inode] of directory.contents) {
    if (inode instanceof File && !(prefix + name in given)) written[prefix + name] = decoder.decode(inode.data);
  }
}
