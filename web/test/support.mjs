// A browser with the built page, and the native command line beside it.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';

import { chromium } from 'playwright-core';

const page = new URL('../../build/web/', import.meta.url).pathname;
export const native = process.env.CORTADO ?? new URL('../../build/dev/apps/cli/cortado', import.meta.url).pathname;
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm', '.json': 'application/json' };

/// What the native command line prints: { exit, out, err, files }. It keeps no times of an earlier run.
export function terminal(words, files = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'cortado-web-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const env = { PATH: process.env.PATH, XDG_CACHE_HOME: folder };
  return new Promise((resolve) => {
    execFile(native, words, { cwd: folder, env, maxBuffer: 1 << 28 }, (error, out, err) => {
      rmSync(folder, { recursive: true });
      resolve({ exit: error ? error.code : 0, out, err });
    });
  });
}

/// Serves the files of the page and nothing else.
export function serve() {
  const server = createServer((request, response) => {
    const path = new URL(request.url, 'http://localhost').pathname;
    const name = path === '/' ? 'index.html' : path.slice(1);
    if (!(extname(name) in types) || name.includes('..')) {
      response.statusCode = 404;
      response.end();
      return;
    }
    response.setHeader('Content-Type', types[extname(name)]);
    try {
      response.end(readFileSync(join(page, name)));
    } catch {
      response.statusCode = 404;
      response.end();
    }
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve({ server, origin: `http://127.0.0.1:${server.address().port}` }));
  });
}

export function worker() {
  return `/assets/${readdirSync(join(page, 'assets')).find((name) => /^worker-.*\.js$/.test(name))}`;
}

export function module() {
  return `/assets/${readdirSync(join(page, 'assets')).find((name) => name.endsWith('.wasm'))}`;
}

/// A browser; requests to other origins and errors of the page are collected in `foreign` and `errors`.
export async function open(origin) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
  const foreign = [];
  const errors = [];
  const tab = async (options = {}) => {
    const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, permissions: ['clipboard-read', 'clipboard-write'], ...options });
    const one = await context.newPage();
    one.on('request', (request) => {
      if (!request.url().startsWith(origin) && !/^(data|blob):/.test(request.url())) foreign.push(request.url());
    });
    one.on('pageerror', (error) => errors.push(error.message));
    one.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
    return one;
  };
  return { browser, tab, foreign, errors };
}

/// Waits until the answer to the question in the address is there, with all rows and charts.
export async function settled(tab) {
  await tab.waitForFunction(
    () => document.querySelector('.state')?.dataset.busy === 'no' && !document.querySelector('[aria-busy=true], .plot:empty'),
    null,
    { timeout: 120_000 },
  );
}

/// Waits until all rows and charts are there.
export async function drawn(tab) {
  await tab.waitForFunction(() => document.querySelector('main section') && !document.querySelector('[aria-busy=true], .plot:empty'), null, { timeout: 60_000 });
}

/// What a chart has: marks of all kinds, and rings.
export function chart(tab, index) {
  return tab.locator('figure.chart').nth(index).evaluate((figure) => {
    const circles = [...figure.querySelectorAll('.plot svg circle')];
    const rings = circles.filter((one) => one.closest('g[fill=none]')).length;
    return { marks: figure.querySelectorAll('.plot svg :is(rect, circle, path)').length, rings };
  });
}

/// The words of a line that a shell would cut into them.
export function wordsOf(line) {
  return [...line.matchAll(/'((?:[^']|'\\'')*)'|(\S+)/g)].map((match) => match[1] ?? match[2]).slice(1);
}

/// Rows of a table of the page as exact values, by the keys of its columns.
export function rowsOf(tab, caption) {
  return tab.evaluate((text) => {
    const table = [...document.querySelectorAll('table')].find((one) => one.caption?.textContent.startsWith(text));
    return [...(table?.tBodies[0].rows ?? [])].map((row) =>
      Object.fromEntries([...row.cells].map((cell) => [cell.dataset.key, cell.dataset.value])),
    );
  }, caption);
}
