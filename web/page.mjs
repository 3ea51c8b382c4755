// node page.mjs FOLDER: the script of pages (--html) as one file, script.js, with the licences of what is inside, and about.txt, its
// hash as a Content-Security-Policy has it.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'vite';

const folder = process.argv[2];
const { output } = await build({
  configFile: false,
  root: fileURLToPath(new URL('.', import.meta.url)),
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    write: false,
    target: 'es2022',
    modulePreload: false,
    license: { fileName: 'licenses.md' },
    rolldownOptions: { transform: { define: { 'import.meta': '{}' } }, input: 'src/page/main.tsx', output: { format: 'iife', codeSplitting: false } },
  },
});
const chunks = output.filter((file) => file.type === 'chunk');
const assets = output.filter((file) => file.type === 'asset').map((file) => file.fileName);
if (chunks.length !== 1 || assets.join() !== 'licenses.md') throw new Error(`one script is wanted, not ${output.map((file) => file.fileName).join(', ')}`);
// Most packages have the same text but for the line of the copyright.
const texts = new Map();
for (const section of String(output.find((file) => file.fileName === 'licenses.md').source).split(/^## /m).slice(1)) {
  const [, name, copyright, text] = section.match(/^(.*)\n([^]*?Copyright.*\n)([^]*)$/) ?? ['', section.split('\n')[0], '', section];
  texts.set(text.trim(), `${texts.get(text.trim()) ?? ''}${name}\n${copyright.trim()}\n`);
}
const licences = [...texts].map(([text, names]) => `${names}\n${text}\n`).join('\n');
// Neither may end the element that it stands in, nor begin a comment of HTML.
const script = `${chunks[0].code}\n/*! ${licences.replaceAll('*/', '* /')} */\n`.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');
if (/<\/script|<!--/i.test(script)) throw new Error('the script could end its element');
writeFileSync(join(folder, 'script.js'), script);
writeFileSync(join(folder, 'about.txt'), `'sha256-${createHash('sha256').update(script).digest('base64')}'`);
