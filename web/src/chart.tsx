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
          <button type="button" onClick={() => saveSvg(holder.current, name)}>
            SVG
          </button>
          <button type="button" onClick={() => savePng(main(holder.current), name)}>
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

function standalone(svg: SVGSVGElement): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  const style = getComputedStyle(svg);
  copy.setAttribute('style', `color: ${style.color}; background: ${getComputedStyle(document.body).backgroundColor}; font-family: sans-serif`);
  return new XMLSerializer().serializeToString(copy);
}

function main(holder: HTMLElement | null): SVGSVGElement | null {
  if (!holder) return null;
  const all = [...holder.querySelectorAll('svg')];
  return all.sort((a, b) => b.clientWidth * b.clientHeight - a.clientWidth * a.clientHeight)[0] ?? null;
}

function saveSvg(holder: HTMLElement | null, name: string): void {
  const svg = main(holder);
  if (svg) save(`${name}.svg`, standalone(svg), 'image/svg+xml');
}

function savePng(svg: SVGSVGElement | null, name: string): void {
  if (!svg) return;
  const image = new Image();
  const { width, height } = svg.getBoundingClientRect();
  image.onload = () => {
    const canvas = document.createElement('canvas');
    canvas.width = width * 2;
    canvas.height = height * 2;
    const context = canvas.getContext('2d');
    context?.scale(2, 2);
    context?.drawImage(image, 0, 0, width, height);
    canvas.toBlob((blob) => blob && save(`${name}.png`, blob));
  };
  image.src = `data:image/svg+xml;utf8,${encodeURIComponent(standalone(svg))}`;
}
