// Puts all files of build/web, compressed, into build/web/page.bundle: for each a line "PATH TYPE BYTES", then its bytes.
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';

const root = new URL('../build/web/', import.meta.url).pathname;
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm' };

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
