// node picture.mjs PAGE FILE: the first chart of a page (--html) as FILE.svg, or its timelines as FILE.png, for documents.
import { chromium } from 'playwright-core';

const [page, file] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
const tab = await browser.newPage({ viewport: { width: 900, height: 1200 }, colorScheme: 'light' });
await tab.goto(new URL(page, `file://${process.cwd()}/`).href);
await tab.waitForFunction(() => document.querySelector('main section') && !document.querySelector('[aria-busy=true], .plot:empty'));
if (file.endsWith('.png')) {
  await tab.addStyleTag({ content: '.timelines :is(.note, .tools), .timeline button { display: none }' });
  await tab.locator('canvas').last().scrollIntoViewIfNeeded();
  await tab.waitForTimeout(500); // canvases are drawn when they come into sight
  await tab.locator('.timelines').screenshot({ path: file });
} else {
  const [download] = await Promise.all([tab.waitForEvent('download'), tab.getByRole('button', { name: 'SVG' }).first().click()]);
  await download.saveAs(file);
}
await browser.close();
