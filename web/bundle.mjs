// Completes build/web: the answer that an opened page shows until its own is there, licences of all that is inside, and page.bundle, all
// files compressed: for each a line "PATH TYPE BYTES", then its bytes.
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join, relative } from 'node:path';
import { WASI } from 'node:wasi';
import { gzipSync } from 'node:zlib';

const root = new URL('../build/web/', import.meta.url).pathname;
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm', '.txt': 'text/plain', '.json': 'application/json' };

/// What the module prints for the words.
function answer(words) {
  const folder = mkdtempSync(join(tmpdir(), 'cortado-page-'));
  const stdout = openSync(join(folder, 'out'), 'w');
  const wasi = new WASI({ version: 'preview1', args: ['cortado', ...words], stdout, preopens: {} });
  const module = new WebAssembly.Module(readFileSync(join(root, 'assets', readdirSync(join(root, 'assets')).find((name) => name.endsWith('.wasm')))));
  const exit = wasi.start(new WebAssembly.Instance(module, wasi.getImportObject()));
  closeSync(stdout);
  const out = readFileSync(join(folder, 'out'), 'utf8');
  rmSync(folder, { recursive: true });
  if (exit !== 0) throw new Error(`cortado ${words.join(' ')} ends with ${exit}`);
  return out;
}

// The question of a page that is opened without one (src/views/overlap.tsx). A cold module needs a second for it.
const first = ['overlap', 'all-gather', '--gemm', '16384x3584x8192', '--json'];
writeFileSync(join(root, 'first.json'), JSON.stringify({ words: first, out: answer(first) }));

// The module has libraries of Debian inside, and of @yowasp/clang: wasi-libc (MIT, parts by musl; or Apache-2.0 with LLVM
// exception), libc++ and compiler-rt (Apache-2.0 with LLVM exception), whose texts stand in the copyright file of clang.
const packages = ['libfmt-dev', 'libtomlplusplus-dev', 'libcli11-dev', 'nlohmann-json3-dev', 'clang-22'];
const texts = [readFileSync(join(root, 'licenses.md'), 'utf8'), '# In the WebAssembly module: Debian packages, and wasi-libc, libc++ and compiler-rt (see clang-22)\n'];
for (const name of packages) {
  const path = `/usr/share/doc/${name}/copyright`;
  if (existsSync(path)) texts.push(`## ${name}\n\n${readFileSync(path, 'utf8')}`);
}
rmSync(join(root, 'licenses.md'));
writeFileSync(join(root, 'licenses.txt'), texts.join('\n'));

const files = readdirSync(root, { recursive: true })
  .map((name) => join(root, name))
  .filter((path) => statSync(path).isFile() && extname(path) in types)
  .sort();
const parts = [];
for (const path of files) {
  const content = gzipSync(readFileSync(path), { level: 9 });
  parts.push(Buffer.from(`/${relative(root, path)} ${types[extname(path)]} ${content.length}\n`), content);
}
const bundle = Buffer.concat(parts);
writeFileSync(join(root, 'page.bundle'), bundle);
console.log(`page.bundle: ${files.length} files, ${bundle.length} bytes compressed`);
