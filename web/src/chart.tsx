// A chart of Observable Plot with a title, a description for screen readers, and its picture as a file.
import type { PlotOptions, ScaleOptions } from '@observablehq/plot';
import { useEffect, useRef, useState } from 'preact/hooks';

import { save } from './format';
import { soon } from './soon';

export type Library = typeof import('./plot');

// Most of the page's code: it is fetched and parsed while the first question is computed.
const library = import('./plot');

// Okabe and Ito's colours, which people with any colour vision tell apart; yellow and black left out for contrast, more for long legends.
export const COLOURS = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#d55e00', '#56b4e9', '#7a7a7a', '#8c6d1f', '#8b2252', '#5b4bb7', '#2f6b3a', '#17becf', '#b35900'];

const plain = (value: unknown) => (typeof value === 'number' ? value.toLocaleString('en', { maximumSignificantDigits: 3 }) : String(value));

export interface ChartProps {
  title: string;
  about: string; // what a reader who does not see it should know
  name: string; // of files
  plot: (Plot: Library, width: number) => PlotOptions;
  depends: unknown[];
}

export function Chart({ title, about, name, plot, depends }: ChartProps) {
  const holder = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = holder.current;
    if (!element) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.round(entry.contentRect.width)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const element = holder.current;
    if (!element || width < 50) return;
    const stop = new AbortController();
    void library.then((Plot) => soon(() => element.replaceChildren(figureOf(Plot, plot(Plot, width), width, title, about)), stop.signal));
    return () => stop.abort();
  }, [width, ...depends]);
  return (
    <figure class="chart">
      <figcaption>
        <h3>{title}</h3>
        <span class="tools">
          <button type="button" onClick={() => saveSvg(holder.current, title, name)}>
            SVG
          </button>
          <button type="button" onClick={() => savePng(holder.current, title, name)}>
            PNG
          </button>
        </span>
      </figcaption>
      <p class="note">{about}</p>
      <div ref={holder} class="plot" />
    </figure>
  );
}

function figureOf(Plot: Library, options: PlotOptions, width: number, title: string, about: string): Element {
  const figure = Plot.plot({
    width,
    marginLeft: 56,
    marginBottom: 40,
    ...options,
    x: axis(options.x),
    y: axis(options.y),
    style: { background: 'transparent', fontSize: '12px', overflow: 'visible' },
    color: { range: COLOURS, ...options.color },
    ariaLabel: title,
    ariaDescription: about,
  });
  // One picture with one name for screen readers: the parts of a chart have no role that could bear theirs.
  for (const part of figure.querySelectorAll('g[aria-label]')) part.removeAttribute('aria-label');
  for (const svg of [figure, ...figure.querySelectorAll('svg')]) {
    if (!(svg instanceof SVGSVGElement)) continue;
    if (svg.hasAttribute('aria-label')) svg.setAttribute('role', 'img');
    else svg.setAttribute('aria-hidden', 'true'); // a swatch of the legend, whose text stands beside it
  }
  return figure;
}

/// Labels in the middle, without arrows; logarithmic axes in plain numbers.
function axis(options: ScaleOptions | undefined): ScaleOptions {
  return { labelAnchor: 'center', labelArrow: 'none', ...(options?.type === 'log' ? { tickFormat: plain } : {}), ...options };
}

const SVG = 'http://www.w3.org/2000/svg';
const LINE = 18; // of the legend

function element(name: string, attributes: Record<string, string | number>, text = ''): SVGElement {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.textContent = text;
  return made;
}

/// The chart with its title and legend as one picture that needs nothing from the page.
function standalone(holder: HTMLElement, title: string): SVGElement {
  const style = getComputedStyle(holder);
  const width = holder.clientWidth;
  const parts: SVGElement[] = [element('text', { x: 4, y: 18, 'font-size': 15, 'font-weight': 600, fill: 'currentColor' }, title)];
  let y = 34;
  let x = 4;
  const swatches = [...holder.querySelectorAll<HTMLElement>('[class$=-swatch]')];
  for (const swatch of swatches) {
    const text = swatch.textContent ?? '';
    const wide = 24 + 7 * text.length;
    if (x + wide > width && x > 4) {
      x = 4;
      y += LINE;
    }
    parts.push(element('rect', { x, y: y - 10, width: 12, height: 12, fill: swatch.querySelector('svg')?.getAttribute('fill') ?? 'currentColor' }));
    parts.push(element('text', { x: x + 17, y, 'font-size': 12, fill: 'currentColor' }, text));
    x += wide;
  }
  if (swatches.length > 0) y += LINE;
  for (const svg of holder.querySelectorAll<SVGSVGElement>('svg')) {
    if (swatches.some((swatch) => swatch.contains(svg))) continue;
    const copy = svg.cloneNode(true) as SVGSVGElement;
    copy.setAttribute('y', String(y));
    parts.push(copy);
    y += svg.getBoundingClientRect().height;
  }
  const whole = element('svg', { width, height: Math.ceil(y), viewBox: `0 0 ${width} ${Math.ceil(y)}`, 'font-family': 'sans-serif' });
  const ground = getComputedStyle(document.body).backgroundColor;
  whole.setAttribute('style', `color: ${style.color}; --plot-background: ${ground}`);
  whole.append(element('rect', { width: '100%', height: '100%', fill: ground }), ...parts);
  return whole;
}

const written = (svg: SVGElement) => new XMLSerializer().serializeToString(svg);

function saveSvg(holder: HTMLElement | null, title: string, name: string): void {
  if (holder) save(`${name}.svg`, written(standalone(holder, title)), 'image/svg+xml');
}

function savePng(holder: HTMLElement | null, title: string, name: string): void {
  if (!holder) return;
  const svg = standalone(holder, title);
  const image = new Image();
  const [width, height] = ['width', 'height'].map((side) => Number(svg.getAttribute(side)));
  image.onload = () => {
    const canvas = document.createElement('canvas');
    canvas.width = width * 2;
    canvas.height = height * 2;
    const context = canvas.getContext('2d');
    context?.scale(2, 2);
    context?.drawImage(image, 0, 0, width, height);
    canvas.toBlob((blob) => blob && save(`${name}.png`, blob));
  };
  image.src = `data:image/svg+xml;utf8,${encodeURIComponent(written(svg))}`;
}
