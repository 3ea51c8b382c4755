// npm run bench [-- PART...]: size and speed of the built page (build/web), and the module against the native command line, in headless
// Chromium. Figures for docs/explorer.md; no test depends on them. ROUNDS: how often each is measured; medians are printed.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';

import { module, open, serve, settled, terminal, worker } from './test/support.mjs';

const rounds = Number(process.env.ROUNDS ?? 5);
const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];
const ms = (value) => `${value.toFixed(0)} ms`;

function sizes() {
  const root = new URL('../build/web/', import.meta.url).pathname;
  const totals = { raw: 0, gzip: 0, brotli: 0 };
  for (const name of readdirSync(root, { recursive: true })) {
    const path = join(root, name);
    if (!statSync(path).isFile() || !/\.(html|js|css|wasm|json)$/.test(name)) continue;
    const content = readFileSync(path);
    totals.raw += content.length;
    totals.gzip += gzipSync(content, { level: 9 }).length;
    totals.brotli += brotliCompressSync(content).length;
  }
  console.log(`page and module, bytes: ${totals.raw}, gzip ${totals.gzip}, brotli ${totals.brotli}`);
}

/// A tab whose window has been there for a while: a new window loads pages of the browser's own interface, which take the processor for a second.
async function oldTab(browser) {
  const tab = await browser.tab();
  await tab.waitForTimeout(2000);
  return tab;
}

/// Tasks of the main thread that took longer than 50 ms, from now on.
const watchTasks = () => {
  window.longTasks = [];
  new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: 'longtask', buffered: true });
};

/// A page that is opened without a question shows an answer of its build first; a link to another question waits for the module.
async function firstPicture(browser, origin) {
  const shown = () => document.querySelector('[data-testid=choice]') && document.querySelector('figure.chart svg') && performance.now();
  for (const [name, place] of [['opened', ''], ['opened by a link', '/#/overlap?gemm=8192x8192x8192']]) {
    const times = [];
    for (let i = 0; i < rounds; ++i) {
      const tab = await oldTab(browser);
      await tab.goto(`${origin}${place}`, { waitUntil: 'commit' });
      times.push(await (await tab.waitForFunction(shown, null, { polling: 'raf', timeout: 60_000 })).jsonValue());
      await tab.context().close();
    }
    console.log(`first answer with its table and chart, ${name}: median ${ms(median(times))}, worst ${ms(Math.max(...times))}`);
  }
}

async function newQuestions(browser, origin) {
  const tab = await oldTab(browser);
  await tab.addInitScript(watchTasks);
  await tab.goto(origin);
  await settled(tab);
  await tab.waitForTimeout(2000);
  await tab.evaluate(() => (window.longTasks = []));
  const typed = [];
  const computed = [];
  for (let i = 0; i < 3 * rounds; ++i) {
    const gemm = `${8192 + 256 * i}x${4096 + 512 * i}x8192`;
    const [whole, inside] = await tab.evaluate(
      (text) =>
        new Promise((resolve) => {
          const input = document.getElementById('field-gemm');
          const began = performance.now();
          input.value = text;
          input.dispatchEvent(new Event('input', { bubbles: true }));
          const look = () => {
            const state = document.querySelector('.state');
            const there = state.dataset.busy === 'no' && document.querySelector('[data-testid=command]').textContent.includes(text);
            if (there) resolve([performance.now() - began, Number(state.textContent.match(/(\d+) ms/)?.[1])]);
            else requestAnimationFrame(look);
          };
          requestAnimationFrame(look);
        }),
      gemm,
    );
    typed.push(whole);
    computed.push(inside);
    await tab.waitForTimeout(i % 3 === 0 ? 2000 : 300);
  }
  console.log(`a new GEMM, all strategies: module median ${ms(median(computed))}, worst ${ms(Math.max(...computed))}; from key to picture (120 ms of it waits for more keys) median ${ms(median(typed))}, worst ${ms(Math.max(...typed))}`);
  const tasks = await tab.evaluate(() => window.longTasks);
  console.log(`  meanwhile, tasks of the main thread over 50 ms: ${tasks.length}, longest ${ms(Math.max(0, ...tasks))}`);
  await tab.context().close();
}

async function longTasks(browser, origin) {
  for (const view of ['overlap', 'collectives', 'model', 'kv', 'power', 'machine', 'accuracy']) {
    const tab = await oldTab(browser);
    await tab.addInitScript(watchTasks);
    await tab.goto(`${origin}/#/${view}`);
    await settled(tab);
    await tab.waitForTimeout(2500);
    const tasks = await tab.evaluate(() => window.longTasks);
    console.log(`${view}: tasks of the main thread over 50 ms: ${tasks.length}, longest ${ms(Math.max(0, ...tasks))}`);
    await tab.context().close();
  }
}

/// A timeline of 15,911 commands on 72 queues that is zoomed and moved in every frame, with and without arrows.
async function frames(browser, origin) {
  for (const arrows of ['', '&arrows=yes']) {
    const tab = await oldTab(browser);
    await tab.goto(`${origin}/#/overlap?gemm=131072x3584x8192&strategy=hetero-fused-1d%2F64&rank=all${arrows}`);
    await tab.getByRole('button', { name: 'Perfetto trace' }).waitFor({ timeout: 60_000 });
    await tab.locator('.timeline canvas').first().scrollIntoViewIfNeeded();
    await tab.waitForTimeout(1000);
    const intervals = await tab.evaluate(
      () =>
        new Promise((resolve) => {
          const canvas = document.querySelector('.timeline canvas');
          const list = [];
          let last;
          const step = (now) => {
            if (last !== undefined) list.push(now - last);
            last = now;
            if (list.length === 240) return resolve(list);
            const place = { bubbles: true, cancelable: true, clientX: canvas.getBoundingClientRect().left + 500, clientY: canvas.getBoundingClientRect().top + 50 };
            const third = Math.floor(list.length / 80); // in, along, out
            if (third === 1) canvas.dispatchEvent(new WheelEvent('wheel', { ...place, deltaX: list.length % 2 ? 30 : -20 }));
            else if (list.length % 3 === 0) canvas.dispatchEvent(new WheelEvent('wheel', { ...place, deltaY: third === 0 ? -1 : 1, ctrlKey: true }));
            else canvas.dispatchEvent(new WheelEvent('wheel', { ...place, deltaX: 3 }));
            requestAnimationFrame(step);
          };
          requestAnimationFrame(step);
        }),
    );
    const late = intervals.toSorted((a, b) => a - b)[Math.floor(intervals.length * 0.95)];
    const rate = (1000 * intervals.length) / intervals.reduce((sum, one) => sum + one, 0);
    console.log(`10,000 commands${arrows ? ' with arrows' : ''}: ${rate.toFixed(1)} frames a second; interval median ${median(intervals).toFixed(1)} ms, 95 % within ${late.toFixed(1)} ms, worst ${Math.max(...intervals).toFixed(1)} ms`);
    await tab.context().close();
  }
}

async function against(browser, origin) {
  const tab = await oldTab(browser);
  await tab.goto(origin);
  await settled(tab);
  await tab.waitForTimeout(2000);
  const lines = [
    'list machines --json',
    'overlap all-gather --gemm 16384x3584x8192 --json',
    'overlap all-gather --gemm 16384x3584x8192 --strategy auto --json',
    'overlap reduce-scatter --gemm 8192x8192x3584 --json',
    'overlap all-gather --gemm 8192x57344x8192 --bytes 896MiB --independent --json',
    'run all-gather --on sim --variant b2b --bytes 1GiB --json',
    'bench all-gather --on sim --sizes 1KiB:1GiB --json',
    'model llama-3.1-70b --phase prefill --tp 8 --tokens 8192 --json',
    'kv --model llama-3.1-70b --tp 8 --tokens 32768 --json',
    'power all-gather --gemm 8192x8192x8192 --bytes 256MiB --independent --json',
    'reproduce dma-latte --json',
  ];
  await tab.evaluate(
    async ([workerUrl, moduleUrl]) => {
      const one = new Worker(workerUrl, { type: 'module' });
      one.postMessage({ module: await WebAssembly.compileStreaming(fetch(moduleUrl)) });
      window.timed = (words) =>
        new Promise((resolve) => {
          one.onmessage = ({ data }) => 'answer' in data && resolve(data.answer.ms);
          one.postMessage({ id: 1, words, files: {} });
        });
    },
    [worker(), module()],
  );
  for (const line of lines) {
    const words = line.split(' ');
    const inPage = [];
    const native = [];
    for (let i = 0; i < rounds; ++i) {
      inPage.push(await tab.evaluate((asked) => window.timed(asked), words));
      const began = performance.now();
      await terminal(words);
      native.push(performance.now() - began);
    }
    const ratio = median(inPage) / median(native);
    console.log(`${line}: module first ${ms(inPage[0])}, median ${ms(median(inPage))}; native process ${ms(median(native))}; ${ratio.toFixed(2)} times`);
  }
  await tab.context().close();
}

const host = await serve();
const browser = await open(host.origin);
try {
  const parts = { sizes, firstPicture, newQuestions, longTasks, frames, against };
  const chosen = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(parts);
  for (const name of chosen) await parts[name](browser, host.origin);
} finally {
  await browser.browser.close();
  host.server.close();
}
