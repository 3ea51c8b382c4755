import { chromium } from 'playwright-core';
const [out, ...files] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
const mode = process.env.MODE ?? 'light'; const width = Number(process.env.WIDTH ?? 1000);
for (const file of files) {
  const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme: mode, javaScriptEnabled: !process.env.NOJS });
  const tab = await context.newPage();
  tab.on('pageerror', (e) => console.log(file, e.message));
  tab.on('console', (m) => m.type() === 'error' && console.log(file, m.text()));
  await tab.goto(`file://${file}`);
  if (!process.env.NOJS) await tab.waitForFunction(() => !document.querySelector('[aria-busy=true], .plot:empty'), null, { timeout: 20000 }).catch((e) => console.log(file, 'timeout'));
  await tab.waitForTimeout(300);
  await tab.screenshot({ path: `${out}/${file.split('/').pop().replace('.html', '')}-${mode}-${width}.png`, fullPage: true });
  await context.close();
}
await browser.close();
