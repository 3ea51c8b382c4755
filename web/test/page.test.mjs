// Pages of the command line (--html), opened from disk: what they draw, and their numbers against --json. They need no WebAssembly.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { chart, drawn, native, open } from './support.mjs';

const axe = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'cortado-pages-'));
const env = { PATH: process.env.PATH, XDG_CACHE_HOME: folder, SOURCE_DATE_EPOCH: '1767225600' };
let browser;

const cortado = (words) => execFileSync(native, words, { cwd: folder, env, maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] }).toString();

before(async () => {
  browser = await open('file://');
  cortado(['sweep', 'engines-small', '-o', 'engines.db']);
});

after(async () => {
  await browser?.browser.close();
  rmSync(folder, { recursive: true });
});

/// The page of a command, open, with all that it draws, and the document that it prints.
async function pageOf(words, options = {}) {
  const json = JSON.parse(cortado([...words, '--json', '--html', 'page.html']));
  const tab = await browser.tab(options);
  await tab.goto(`file://${join(folder, 'page.html')}`);
  if (options.javaScriptEnabled !== false) await drawn(tab);
  return { tab, json };
}

async function saved(tab, button) {
  const [download] = await Promise.all([tab.waitForEvent('download'), button.click()]);
  return readFileSync(await download.path(), 'utf8');
}

/// Every kind of page, with the kinds of its charts.
const PAGES = [
  { name: 'overlap', words: ['overlap', 'all-gather', '--gemm', '16384x3584x8192'], charts: ['Time by strategy'], timelines: 1 },
  {
    name: 'overlap --why',
    words: ['overlap', 'all-gather', '--gemm', '8192x2048x4096', '--why'],
    charts: ['Time by strategy', 'Extra time of the pieces', 'How much GEMMs and copies slow', 'Where the time goes'],
    timelines: 1,
  },
  { name: 'what-if', words: ['overlap', 'reduce-scatter', '--gemm', '8192x8192x3584', '--with', 'tracker,nmc,mca'], charts: ['Time by strategy'] },
  { name: 'map', words: ['overlap', 'all-gather', '--map', '--n', '1024', '--m', '4096:16384', '--k', '1024:4096'], charts: ['Recommended strategy'] },
  { name: 'bench', words: ['bench', 'all-gather', '--on', 'sim', '--sizes', '1KiB:1MiB'], charts: ['Bus bandwidth'] },
  {
    name: 'power',
    words: ['power', 'all-gather', '--gemm', '2048x2048x4096', '--bytes', '32MiB', '--independent', '--ranks', '2', '--policy', 'none,uniform-cap'],
    charts: ['Mean power', 'Power over time: both none', 'Power over time: both uniform-cap'],
  },
  { name: 'model', words: ['model', 'llama-3.1-8b', '--phase', 'prefill', '--tp', '2', '--tokens', '64', '--system', 'serial'], charts: ['Where the time goes'], timelines: 1 },
  { name: 'kv', words: ['kv', '--model', 'llama-3.1-70b', '--tp', '8', '--tokens', '4k'], charts: ['Time by strategy'] },
  {
    name: 'serve-sim',
    words: ['serve-sim', '--model', 'llama-3.1-8b', '--requests', '40', '--rate', '10', '--input', '512', '--output', '16'],
    charts: ['Output tokens per second', 'Time to first token', 'Running sequences', 'KV cache pages', 'Host-to-GPU link'],
  },
  { name: 'bench gemm', words: ['bench', 'gemm', '--shapes', '4096x4096x4096,1x8192x8192'], charts: ['Rate by shape'] },
  { name: 'bench features', words: ['bench', 'features', '--with', 'multicast'], charts: ['Gain by feature'] },
  { name: 'plan --explain', words: ['plan', 'all-gather', '--bytes', '1MiB', '--explain'], charts: ['Time'] },
  { name: 'sweep, lines', words: ['sweep', 'show', 'engines.db', '--group-by', 'links.rate_GBps'], charts: ['over links.rate_GBps'] },
  { name: 'sweep, map', words: ['sweep', 'show', 'engines.db', '--best', '--group-by', 'links.rate_GBps,dma.engines'], charts: ['of the best variant'] },
];

const at = (row, key) => key.split('.').reduce((value, part) => value?.[part], row) ?? null;

for (const { name, words, charts, timelines = 0 } of PAGES) {
  test(`${name}: charts, timelines, and the numbers of --json`, async () => {
    const { tab, json } = await pageOf(words);
    const titles = await tab.locator('figure.chart h3').allTextContents();
    assert.equal(titles.length, charts.length, titles.join('; '));
    charts.forEach((title, i) => assert.ok(titles[i].includes(title), `${titles[i]} is not ${title}`));
    for (let i = 0; i < charts.length; ++i) assert.ok((await chart(tab, i)).marks > 0, `${titles[i]} is empty`);
    assert.equal(await tab.locator('canvas').count(), timelines);
    if (timelines > 0) {
      await tab.locator('canvas').first().scrollIntoViewIfNeeded();
      await tab.waitForFunction(() => {
        const canvas = document.querySelector('canvas');
        return canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((one) => one > 0);
      });
    }
    // The saved file is what the terminal prints, and every cell has its number.
    const file = JSON.parse(await saved(tab, tab.getByRole('button', { name: 'JSON' })));
    assert.deepEqual(file, json);
    const rows = await tab.evaluate(() => [...document.querySelectorAll('table')][0] && [...document.querySelector('table').tBodies[0].rows].map((row) => [...row.cells].map((cell) => [cell.dataset.key, cell.dataset.value])));
    const first = await tab.evaluate(() => JSON.parse(document.getElementById('data').textContent).documents[0].tables.find((table) => table.shown).key);
    const list = json[first];
    assert.equal(rows.length, list.length);
    rows.forEach((row, i) => row.forEach(([key, value]) => assert.equal(value, at(list[i], key) === null ? '' : String(at(list[i], key)), `${key} of row ${i}`)));
    assert.equal(await tab.getByTestId('command').textContent(), `cortado ${[...words, '--json', '--html', 'page.html'].join(' ')}`);
    assert.match(await tab.getByTestId('origin').textContent(), /^Cortado \d+\.\d+\.\d+, 2026-01-01 00:00 UTC$/);
    assert.equal(await tab.locator('strong.how').textContent(), 'predicted');
    await tab.evaluate(axe);
    for (const colorScheme of ['light', 'dark']) {
      await tab.emulateMedia({ colorScheme });
      const found = await tab.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
      const serious = found.violations.filter((one) => ['serious', 'critical'].includes(one.impact));
      assert.deepEqual(serious.map((one) => `${colorScheme}, ${one.id}: ${one.nodes[0].html.slice(0, 200)}`), []);
    }
    await tab.context().close();
  });
}

test('a page without JavaScript has its tables with the same texts', async () => {
  const words = ['overlap', 'all-gather', '--gemm', '16384x3584x8192', '--why'];
  const { tab: plain } = await pageOf(words, { javaScriptEnabled: false });
  const again = plain.url();
  const texts = (tab) => tab.locator('td').allTextContents();
  const without = await texts(plain);
  const tab = await browser.tab();
  await tab.goto(again);
  await drawn(tab);
  assert.ok(without.length > 200);
  assert.deepEqual(await texts(tab), without);
  await Promise.all([plain, tab].map((one) => one.context().close()));
});

test('reproduce: published and ours', async () => {
  const { tab, json: printed } = await pageOf(['reproduce', 'dma-latte']);
  const json = printed.reproductions[0];
  assert.equal(await tab.locator('figure.chart').count(), json.tables.length + 1); // and errors of single numbers
  const cells = await tab.evaluate(() => [...document.querySelectorAll('td[data-key=ours]')].map((cell) => Number(cell.dataset.value)));
  const ours = new Set(cells);
  for (const row of json.rows.filter((one) => !json.figures.some((figure) => figure.name === one.item))) assert.ok(ours.has(row.ours), row.item);
  assert.ok((await chart(tab, 2)).rings > 10);
  await tab.context().close();
});

test('the strategy to use is marked, and long times are in ms', async () => {
  const { tab, json } = await pageOf(['overlap', 'all-gather', '--gemm', '65536x8192x16384']);
  const { place, texts } = await tab.evaluate(() => {
    const all = [...document.querySelectorAll('figure.chart svg text')];
    const marked = all.filter((one) => one.textContent.includes('◀ use'));
    return { place: marked.map((one) => one.getBoundingClientRect().top), texts: all.map((one) => [one.textContent, one.getBoundingClientRect().top]) };
  });
  assert.equal(place.length, 1);
  const name = texts.find(([text]) => text === json.choice);
  assert.ok(Math.abs(name[1] - place[0]) < 4, 'the mark stands in the row of the choice');
  assert.ok(texts.some(([text]) => text === 'time, ms'), texts.map(([text]) => text).join('; '));
  await tab.context().close();
});

test('titles of axes stand beside their numbers', async () => {
  const { tab } = await pageOf(['serve-sim', '--model', 'llama-3.1-8b', '--requests', '4k', '--rate', '400', '--input', '1k', '--output', '64']);
  const overlaps = await tab.evaluate(() =>
    [...document.querySelectorAll('figure.chart .plot svg')].flatMap((svg) => {
      const texts = [...svg.querySelectorAll('text')].filter((one) => one.textContent);
      const upright = (one) => !/rotate\(-90\)/.test(`${one.getAttribute('transform')} ${one.parentElement.getAttribute('transform')}`);
      const titles = texts.filter((one) => !upright(one));
      const boxes = texts.filter(upright).map((one) => [one.textContent, one.getBoundingClientRect()]);
      return titles.flatMap((title) => {
        const box = title.getBoundingClientRect();
        return boxes.filter(([, other]) => box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom).map(([text]) => `${title.textContent} on ${text}`);
      });
    }),
  );
  assert.deepEqual(overlaps, []);
  const titles = await tab.evaluate(() => [...document.querySelectorAll('figure.chart .plot svg text')].filter((one) => /rotate/.test(one.outerHTML + one.parentElement.outerHTML)).length);
  assert.ok(titles > 0);
  await tab.context().close();
});

test('run: every queue over time, zoomed by keys, and the trace as a file', async () => {
  const { tab } = await pageOf(['run', 'all-gather', '--bytes', '1MiB', '--on', 'sim']);
  const shown = () => tab.getByTestId('shown').textContent();
  const whole = await shown();
  await tab.locator('canvas').focus();
  await tab.keyboard.press('+');
  assert.notEqual(await shown(), whole);
  await tab.keyboard.press('0');
  assert.equal(await shown(), whole);
  const box = await tab.locator('canvas').boundingBox();
  await tab.mouse.move(box.x + box.width / 6, box.y + 40);
  await tab.waitForSelector('output.hit');
  const trace = JSON.parse(await saved(tab, tab.getByRole('button', { name: 'Perfetto trace' })));
  cortado(['run', 'all-gather', '--bytes', '1MiB', '--on', 'sim', '--trace', 'trace.json']);
  const expected = JSON.parse(readFileSync(join(folder, 'trace.json'), 'utf8'));
  expected.traceEvents = expected.traceEvents.filter((event) => event.ph !== 'C'); // watts
  assert.deepEqual(trace, expected);
  await tab.context().close();
});

test('charts are saved as SVG, rows as CSV', async () => {
  const words = ['bench', 'all-gather', '--on', 'sim', '--sizes', '1KiB:64KiB'];
  const { tab } = await pageOf(words);
  assert.match(await saved(tab, tab.getByRole('button', { name: 'SVG' })), /^<svg [^]*<\/svg>$/);
  const csv = await saved(tab, tab.getByRole('button', { name: 'CSV' }));
  cortado([...words, '--csv', 'rows.csv']);
  const expected = readFileSync(join(folder, 'rows.csv'), 'utf8').split('\n');
  const lines = csv.split('\n');
  assert.equal(lines.length, expected.length);
  assert.equal(lines[0], expected[0]);
  lines.forEach((line, i) =>
    line.split(',').forEach((cell, j) => {
      const other = expected[i].split(',')[j];
      if (cell === other) return;
      assert.ok(Math.abs(Number(cell) / Number(other) - 1) < 1e-9, `${cell} and ${other} in line ${i}`); // --csv has ten digits
    }),
  );
  await tab.context().close();
});

test('measured pages say so', async () => {
  const { tab } = await pageOf(['bench', 'all-gather', '--on', 'soft', '--ranks', '2', '--sizes', '1KiB', '--iters', '1', '--variant', 'pcpy']);
  assert.equal(await tab.locator('strong.how').textContent(), 'measured');
  await tab.context().close();
});

test('a narrow screen scrolls tables, not the page', async () => {
  const { tab } = await pageOf(['overlap', 'all-gather', '--gemm', '16384x3584x8192', '--why'], { viewport: { width: 400, height: 800 }, colorScheme: 'dark' });
  assert.equal(await tab.evaluate(() => document.documentElement.scrollWidth), 400);
  await tab.context().close();
});

test('100,000 rows: parts of the table, charts that say what they leave out', async () => {
  cortado(['bench', 'all-gather', '--on', 'sim', '--sizes', '1KiB', '--html', 'many.html']);
  // The answer of a large sweep, in the page of a small command: as src/report/page.cpp writes it.
  const page = readFileSync(join(folder, 'many.html'), 'utf8');
  const rows = Array.from({ length: 100_000 }, (_, i) => [i, i % 977, 1 + (i % 13) / 7]);
  const columns = ['point', 'm', 'speedup'].map((key) => ({ key, head: key, unit: '', notation: 'shortest' }));
  const kinds = [
    { kind: 'bars', values: ['speedup'], labels: ['point'] },
    { kind: 'lines', values: ['speedup'], labels: ['point'] },
    { kind: 'map', values: ['speedup'], labels: ['point', 'm'] },
  ];
  const charts = kinds.map((kind) => ({ title: kind.kind, about: '', series: [], ...kind }));
  const table = { key: 'rows', title: '', shown: true, count: 100_000, columns, rows, charts };
  const answer = { schema: 'cortado.sweep', version: 1, title: 'many', measured: false, about: [], answer: [], notes: [], facts: [], tables: [table] };
  const data = JSON.stringify({ title: 'many', command: '', version: '', date: '', documents: [answer] });
  writeFileSync(join(folder, 'many.html'), page.replace(/(id="data">)[^]*?(<\/script>)/, (_, before, behind) => before + data + behind));
  const tab = await browser.tab();
  const begin = Date.now();
  await tab.goto(`file://${join(folder, 'many.html')}`);
  await drawn(tab);
  console.log(`100,000 rows drawn after ${Date.now() - begin} ms`);
  assert.equal(await tab.locator('tbody tr').count(), 500);
  const texts = await tab.locator('figure.chart').allTextContents();
  assert.match(texts[0], /The first 80 of 100000 rows/);
  assert.match(texts[1], /Not drawn: 100000 points/);
  assert.match(texts[2], /Not drawn/);
  await tab.getByRole('button', { name: 'last' }).click();
  await drawn(tab);
  assert.equal(await tab.locator('tbody tr').last().locator('td').first().textContent(), '99999');
  await tab.context().close();
});

test('nothing is fetched, and no page has an error', () => {
  assert.deepEqual(browser.foreign, []);
  assert.deepEqual(browser.errors, []);
});
