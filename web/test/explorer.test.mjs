// The page as a person uses it, and its numbers against those of the native command line.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';

import { QUESTIONS } from './questions.mjs';
import { module, open, rowsOf, serve, settled, terminal, worker, wordsOf } from './support.mjs';

const axe = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
let host;
let browser;
let tab;

before(async () => {
  host = await serve();
  browser = await open(host.origin);
  tab = await browser.tab();
});

after(async () => {
  await browser?.browser.close();
  host?.server.close();
});

const go = async (place, page = tab) => {
  await page.goto(`${host.origin}/#/${place}`);
  await page.reload();
  await settled(page);
};

test(`${QUESTIONS.length} questions have the same answer in the page and in a terminal, byte for byte`, async () => {
  await tab.goto(host.origin);
  await tab.evaluate(
    async ([workerUrl, moduleUrl]) => {
      const one = new Worker(workerUrl, { type: 'module' });
      one.postMessage({ module: await WebAssembly.compileStreaming(fetch(moduleUrl)) });
      let last = 0;
      window.askWorker = (words) =>
        new Promise((resolve, reject) => {
          const id = ++last;
          one.onmessage = ({ data }) => {
            if (data.id !== id || 'progress' in data) return;
            if (data.failed) reject(new Error(data.failed));
            else resolve(data.answer);
          };
          one.postMessage({ id, words, files: {} });
        });
    },
    [worker(), module()],
  );
  assert.ok(QUESTIONS.length >= 50);
  for (const words of QUESTIONS) {
    const [page, native] = await Promise.all([tab.evaluate((asked) => window.askWorker(asked), words), terminal(words)]);
    const line = words.join(' ');
    assert.equal(page.exit, native.exit, `${line}: ${page.err}`);
    assert.ok(native.out.length > 100, line);
    assert.ok(page.out === native.out, `the outputs of ${line} differ`);
  }
});

test('the answer that an opened page shows at once is that of its own question', async () => {
  const { words, out } = JSON.parse(readFileSync(new URL('../../build/web/first.json', import.meta.url), 'utf8'));
  assert.equal((await terminal(words)).out, out);
  const page = await browser.tab();
  await page.route('**/*.wasm', () => undefined); // the module never comes
  await page.goto(host.origin);
  await page.getByTestId('choice').waitFor();
  assert.match(await page.locator('.state').textContent(), /predicted when this page was built; computing/);
  assert.deepEqual(wordsOf(await page.getByTestId('command').textContent()), words);
  await page.context().close();
});

// By view: the table that the JSON's rows fill, and where they stand in the JSON.
const VIEWS = {
  overlap: ['All strategies', (json) => json.rows],
  'collectives?sizes=1KiB%3A1MiB': ['All points', (json) => json.rows],
  model: ['Systems', (json) => json.rows],
  'kv?tokens=4096': ['Strategies', (json) => json.rows],
  'power?gemm=4096x4096x4096&bytes=64MiB&policy=none%2Cuniform-cap': ['Policies', (json) => json.rows],
  accuracy: ['Every published number', (json) => json.reproductions[0].rows],
};

for (const [place, [caption, rows]] of Object.entries(VIEWS)) {
  test(`${place.split('?')[0]}: every number of the table is the terminal's, to the last digit`, async () => {
    await go(place);
    const line = await tab.getByTestId('command').textContent();
    const native = await terminal(wordsOf(line));
    assert.equal(native.exit, 0, native.err);
    const expected = rows(JSON.parse(native.out));
    const shown = await rowsOf(tab, caption);
    assert.equal(shown.length, expected.length);
    assert.ok(shown.length > 0);
    let numbers = 0;
    shown.forEach((row, i) => {
      for (const [key, text] of Object.entries(row)) {
        if (!(key in expected[i])) continue;
        const value = expected[i][key];
        assert.equal(text, value === null ? '' : String(value), `${key} of row ${i}`);
        if (typeof value === 'number') ++numbers;
      }
    });
    assert.ok(numbers >= shown.length, 'numbers were compared');
    assert.ok((await tab.locator('figure.chart svg').count()) > 0, 'there is a chart');
  });
}

test('typing asks again, and the copied link opens the same answer', async () => {
  await go('overlap');
  const before = await rowsOf(tab, 'All strategies');
  await tab.getByLabel('GEMM of one GPU').first().fill('8192x8192x8192');
  await tab.waitForFunction(() => document.querySelector('[data-testid=command]').textContent.includes('8192x8192x8192'));
  await settled(tab);
  const changed = await rowsOf(tab, 'All strategies');
  assert.notDeepEqual(changed, before);
  await tab.getByRole('button', { name: 'copy link' }).click();
  const link = await tab.evaluate(() => navigator.clipboard.readText());
  const other = await browser.tab();
  await other.goto(link);
  await settled(other);
  assert.deepEqual(await rowsOf(other, 'All strategies'), changed);
  await other.close();
});

test('the slider moves the rows of the GEMM', async () => {
  await go('overlap');
  const slider = tab.getByRole('slider');
  await slider.focus();
  await slider.press('ArrowRight');
  assert.match(await tab.getByTestId('command').textContent(), /cortado overlap/);
  assert.equal(await tab.getByLabel('GEMM of one GPU').first().inputValue(), '32768x3584x8192');
});

test('timelines zoom by button and key, and name the command under the pointer', async () => {
  await go('overlap?strategy=serial%2Chetero-fused-1d%2F8');
  await tab.getByRole('button', { name: 'Perfetto trace' }).first().waitFor({ timeout: 60_000 });
  const shown = () => tab.getByTestId('shown').textContent();
  const all = await shown();
  await tab.getByRole('button', { name: 'zoom in' }).click();
  assert.notEqual(await shown(), all);
  const canvas = tab.locator('.timeline', { hasText: 'hetero-fused-1d' }).locator('canvas');
  await canvas.focus();
  await canvas.press('0');
  assert.equal(await shown(), all);
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  let text = '';
  for (let y = 18; y < box.height && text === ''; y += 7) {
    for (const share of [0.2, 0.35, 0.5]) {
      await tab.mouse.move(box.x + 96 + (box.width - 96) * share, box.y + y);
      text = (await tab.locator('.hit').count()) > 0 ? await tab.locator('.hit').textContent() : '';
      if (text) break;
    }
  }
  assert.match(text, /µs to .*µs/);
});

// 15,911 commands on 72 queues of 8 GPUs, against the file that the page gives for Perfetto.
test('a timeline of more than 10,000 commands shows each where it is', async () => {
  await go('overlap?gemm=131072x3584x8192&strategy=hetero-fused-1d%2F64&rank=all');
  const canvas = tab.locator('.timeline', { hasText: 'hetero-fused-1d' }).locator('canvas');
  const button = tab.getByRole('button', { name: 'Perfetto trace' });
  await button.waitFor({ timeout: 60_000 });
  const [file] = await Promise.all([tab.waitForEvent('download'), button.click()]);
  const { traceEvents } = JSON.parse(readFileSync(await file.path(), 'utf8'));
  const lanes = lanesOfTrace(traceEvents);
  const spans = lanes.flat();
  assert.ok(spans.length > 10_000, `${spans.length} commands`);
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  assert.ok(box.height >= lanes.length * 14, 'a row for every queue');
  // Commands of at least three pixels have the colour of their kind in the middle. Seen whole, few are so wide; zoomed in, many.
  const end = Math.max(...spans.map((span) => span.ts + span.dur));
  const seen = new Set();
  for (let zooms = 0; zooms <= 9; zooms += 3) {
    const centre = end / 2;
    const size = end / 1.5 ** zooms;
    const from = centre - size / 2;
    const scale = (box.width - 2 - 96) / size; // without the border
    const wanted = lanes.flatMap((lane, row) =>
      lane.map((span) => ({ id: `${row} ${span.ts}`, kind: span.cat, x: 96 + (span.ts + span.dur / 2 - from) * scale, y: 12 + row * 14 + 7, wide: span.dur * scale })),
    ).filter(({ x, wide }) => wide >= 3 && x > 100 && x < box.width - 4);
    await tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const wrong = await canvas.evaluate((element, points) => {
      const style = getComputedStyle(element);
      const names = { compute: '--compute', communication: '--copy', wait: '--wait', synchronization: '--sync', host: '--host' };
      const context = document.createElement('canvas').getContext('2d');
      const colours = {};
      for (const [kind, name] of Object.entries(names)) {
        context.fillStyle = style.getPropertyValue(name);
        context.fillRect(0, 0, 1, 1);
        colours[kind] = context.getImageData(0, 0, 1, 1).data.join(' ');
      }
      const { data, width } = element.getContext('2d').getImageData(0, 0, element.width, element.height);
      return points.filter(({ kind, x, y }) => {
        const at = 4 * (Math.floor(y) * width + Math.floor(x));
        return data.slice(at, at + 4).join(' ') !== colours[kind];
      });
    }, wanted);
    assert.deepEqual(wrong.slice(0, 3), [], `${wrong.length} of ${wanted.length} have another colour, ${zooms} times zoomed in`);
    wanted.forEach(({ id }) => seen.add(id));
    for (let i = 0; i < 3; ++i) await tab.getByRole('button', { name: 'zoom in' }).click();
  }
  assert.ok(seen.size > 100, `${seen.size} commands were wide enough to look at`);
});

/// Commands by queue, in the order of the rows: by GPU, then as the trace sorts them.
function lanesOfTrace(events) {
  const ranks = new Map(events.filter((e) => e.name === 'process_name').map((e) => [e.pid, Number(e.args.name.replace('rank ', ''))]));
  const order = new Map(events.filter((e) => e.name === 'thread_sort_index').map((e) => [e.tid, e.args.sort_index]));
  const lanes = new Map();
  for (const e of events.filter(({ ph }) => ph === 'X')) lanes.set(e.tid, [...(lanes.get(e.tid) ?? []), e]);
  return [...lanes.values()].sort(([a], [b]) => ranks.get(a.pid) - ranks.get(b.pid) || order.get(a.tid) - order.get(b.tid));
}

test('the map of winners fills while it is computed', async () => {
  await go('overlap?gemm=4096x1024x4096&strategy=serial');
  await tab.getByRole('button', { name: 'compute the map' }).click();
  await tab.getByText('49 of 49').waitFor({ timeout: 120_000 });
  await tab.getByText('The map as a table').click();
  const cells = await rowsOf(tab, 'Winners');
  assert.equal(cells.length, 49);
  const native = await terminal(wordsOf(`cortado overlap all-gather --gemm ${cells[0].picked} --strategy auto --json`));
  assert.deepEqual([cells[0].winner, cells[0].speedup], best(native));
});

const best = ({ out }) => {
  const document = JSON.parse(out);
  return [document.choice.split('/')[0], String(document.rows.find((row) => row.strategy === document.choice).speedup)];
};

test('the map of winners has the axes one chooses, numbers of the machine among them', async () => {
  await go('overlap?gemm=4096x1024x4096&strategy=serial');
  await tab.getByLabel('To the right').selectOption('links.rate_GBps');
  await tab.getByLabel('Upwards').selectOption('columns');
  await tab.getByRole('button', { name: 'compute the map' }).click();
  await tab.getByText('49 of 49').waitFor({ timeout: 120_000 });
  await tab.getByText('The map as a table').click();
  // Rates above that of the wire are refused: those points are missing, and the map says why.
  const cells = await rowsOf(tab, 'Winners');
  assert.equal(cells.length, 28);
  assert.match(await tab.getByText('points cannot be computed').textContent(), /^21 .*machine.contradiction.*links.rate_GBps/);
  assert.ok(new Set(cells.map((cell) => cell.speedup)).size > 10, 'the axes change the answer');
  const slow = cells[0];
  const machine = readFileSync(new URL('../../machines/mi300x-8.toml', import.meta.url), 'utf8');
  const edited = machine.replace(/(\[links\][^[]*?\nrate_GBps = \{ value = )[\d.]+/, `$1${slow.x}`);
  assert.notEqual(edited, machine);
  const words = wordsOf(`cortado overlap all-gather --gemm 4096x${slow.y}x4096 --machine edited.toml --strategy auto --json`);
  assert.deepEqual([slow.winner, slow.speedup], best(await terminal(words, { 'edited.toml': edited })));
  // The point opens as a question of its own.
  await tab.getByRole('button', { name: /^show / }).first().click();
  await tab.waitForFunction(() => document.querySelector('[data-testid=command]').textContent.includes('--machine edited.toml'));
  assert.match(tab.url(), new RegExp(`4096x${slow.y}x4096`));
});

test('a changed machine is marked, changes results, and can be undone', async () => {
  await go('machine');
  const rate = tab.getByLabel('links.rate_GBps', { exact: true });
  await rate.fill('60');
  await rate.press('Enter');
  await rate.blur();
  await tab.waitForFunction(() => location.hash.includes('links.rate_GBps'));
  await settled(tab);
  await tab.waitForFunction(() => [...document.querySelectorAll('table')].some((one) => one.caption?.textContent.startsWith('What changed') && one.tBodies[0].rows.length > 0));
  const rows = await rowsOf(tab, 'What changed');
  const serial = rows.find((row) => row.strategy === 'serial');
  assert.ok(Number(serial.after_us) < Number(serial.before_us), 'faster links are faster');
  assert.equal(await tab.locator('tr.marked code').textContent(), 'links.rate_GBps');
  await tab.getByRole('link', { name: 'Overlap' }).click();
  await tab.getByTestId('choice').waitFor();
  await settled(tab);
  assert.match(await tab.getByTestId('command').textContent(), /--machine edited.toml/);
  const overlap = await rowsOf(tab, 'All strategies');
  assert.equal(overlap.find((row) => row.strategy === 'serial').time_us, serial.after_us);
  await tab.getByRole('button', { name: 'back to the original' }).click();
  // The page shows the new question some frames after the click.
  await tab.waitForFunction(() => !document.querySelector('[data-testid=command]').textContent.includes('--machine'));
  await settled(tab);
  const original = await rowsOf(tab, 'All strategies');
  assert.equal(original.find((row) => row.strategy === 'serial').time_us, serial.before_us);
});

test('what is wrong is said as a terminal says it, with the hint', async () => {
  for (const [place, words] of [
    ['overlap?gemm=12x', ['overlap', 'all-gather', '--gemm', '12x', '--json']],
    ['overlap?strategy=hetero', ['overlap', 'all-gather', '--gemm', '16384x3584x8192', '--strategy', 'hetero', '--json']],
    ['collectives?sizes=big', ['bench', 'all-gather', '--on', 'sim', '--sizes', 'big', '--json']],
    ['kv?tokens=none', ['kv', '--model', 'llama-3.1-70b', '--tp', '8', '--tokens', 'none', '--json']],
    ['power?cap=-', ['power', 'all-gather', '--gemm', '8192x8192x8192', '--bytes', '256MiB', '--independent', '--cap', '-', '--json', '--html', 'power.html']],
    ['machine?set=links.rate_GBps%3Dfast', undefined],
  ]) {
    await go(place);
    const problem = await tab.getByRole('alert').textContent();
    if (!words) {
      assert.match(problem, /edited.toml/);
      continue;
    }
    const { err, exit } = await terminal(words);
    assert.equal(exit, 2);
    const [, code, message, hint] = err.trim().match(/^cortado: error: ([\w.-]+): (.*?)(?: \(hint: (.*)\))?$/);
    for (const part of [code, message, hint ?? '']) assert.ok(problem.includes(part), `${place}: ${part}`);
  }
});

test('axe finds no serious accessibility error in any view, light and dark', async () => {
  for (const colorScheme of ['light', 'dark']) {
    const page = await browser.tab({ colorScheme });
    for (const place of [...Object.keys(VIEWS), 'machine', 'overlap?gemm=12x']) {
      await go(place, page);
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => window.axe.run());
      const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
      assert.deepEqual(serious.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 200)}`), [], `${place}, ${colorScheme}`);
    }
    await page.context().close();
  }
});

test('narrow screens do not scroll sideways', async () => {
  const page = await browser.tab({ viewport: { width: 360, height: 740 } });
  for (const place of [...Object.keys(VIEWS), 'machine']) {
    await go(place, page);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wide <= 0, `${place}: ${wide} pixels too wide`);
  }
  await page.context().close();
});

test('no request left the page, and the page reported no error', () => {
  assert.deepEqual(browser.foreign, []);
  assert.deepEqual(browser.errors, []);
});
