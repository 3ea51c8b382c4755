// Timelines below each other on one time axis, drawn on canvases: rows are queues, time runs to the right.
import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';

import { draw, FILL, firstAfter, heightOf, LABEL, lanesOf, ROW, ticks, TOP, type Strip } from './draw';
import { micros, save } from './format';
import { KINDS, textOf } from './trace';

/// What all canvases show, in us: one axis.
export const span = signal<[number, number]>([0, 1]);

interface Hit {
  text: string;
  x: number;
  y: number;
}

function Ruler() {
  const ref = useRef<HTMLDivElement>(null);
  const [pixels, setPixels] = useState(0);
  useEffect(() => {
    if (!ref.current) return;
    const observer = new ResizeObserver(([entry]) => setPixels(entry.contentRect.width - LABEL));
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  const [from, to] = span.value;
  return (
    <div ref={ref} class="ruler" aria-hidden="true">
      {(pixels > 0 ? ticks(from, to, pixels) : []).map((tick) => (
        <span key={tick} style={{ left: `${LABEL + ((tick - from) / (to - from)) * pixels}px` }}>
          {micros(tick)}
        </span>
      ))}
    </div>
  );
}

function zoom(factor: number, at: number, end: number): void {
  const [from, to] = span.value;
  const size = Math.min(end, Math.max(0.01, (to - from) * factor));
  const left = Math.min(Math.max(0, at - ((at - from) / (to - from)) * size), Math.max(0, end - size));
  span.value = [left, left + size];
}

function pan(by: number, end: number): void {
  const [from, to] = span.value;
  const left = Math.min(Math.max(0, from + by), Math.max(0, end - (to - from)));
  span.value = [left, left + to - from];
}

function Canvas({ strip, rank, arrows, end }: { strip: Strip; rank: number; arrows: boolean; end: number }) {
  const ref = useRef<HTMLCanvasElement>(null);
  const [hit, setHit] = useState<Hit>();
  const frame = useRef(0);
  const dragged = useRef<number | undefined>(undefined);
  useEffect(() => {
    const canvas = ref.current;
    if (!canvas) return;
    const redraw = () => {
      cancelAnimationFrame(frame.current);
      if (seen) frame.current = requestAnimationFrame(() => draw(canvas, strip, span.value, rank, arrows));
    };
    // A timeline that is scrolled out of sight is drawn when it comes back.
    let seen = false;
    const sight = new IntersectionObserver(
      ([entry]) => {
        seen = entry.isIntersecting;
        redraw();
      },
      { rootMargin: '50% 0%' },
    );
    sight.observe(canvas);
    const stop = span.subscribe(redraw);
    const observer = new ResizeObserver(redraw);
    observer.observe(canvas);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', redraw);
    const wheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey && Math.abs(event.deltaX) < Math.abs(event.deltaY)) return;
      event.preventDefault();
      const [from, to] = span.value;
      const perPixel = (to - from) / (canvas.clientWidth - LABEL);
      if (event.ctrlKey || event.metaKey) zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, from + (event.offsetX - LABEL) * perPixel, end);
      else pan(event.deltaX * perPixel, end);
    };
    canvas.addEventListener('wheel', wheel, { passive: false });
    return () => {
      stop();
      sight.disconnect();
      observer.disconnect();
      dark.removeEventListener('change', redraw);
      canvas.removeEventListener('wheel', wheel);
      cancelAnimationFrame(frame.current);
    };
  }, [strip, rank, arrows, end]);

  const find = (event: PointerEvent): Hit | undefined => {
    const { trace } = strip;
    const canvas = ref.current;
    if (!trace || !canvas) return undefined;
    const lanes = lanesOf(trace, rank);
    const lane = lanes[Math.floor((event.offsetY - TOP) / ROW)];
    if (lane === undefined || event.offsetX < LABEL) return undefined;
    const [from, to] = span.value;
    const time = from + ((event.offsetX - LABEL) / (canvas.clientWidth - LABEL)) * (to - from);
    const { from: first, to: last, name } = trace.lanes[lane];
    const i = firstAfter(trace.end, first, last, time);
    if (i >= last || trace.start[i] > time) return undefined;
    const waits: string[] = [];
    for (let a = 0; a < trace.arrows.length; a += 4) {
      if (trace.arrows[a] === lane && trace.arrows[a + 1] >= trace.start[i] && trace.arrows[a + 1] <= trace.end[i]) {
        waits.push(trace.lanes[trace.arrows[a + 2]].name);
      }
    }
    const awaited = waits.length > 0 ? `; ${[...new Set(waits)].slice(0, 4).join(', ')} waits for it` : '';
    return {
      text: `${name}: ${textOf(trace, i)}, ${micros(trace.start[i])} to ${micros(trace.end[i])}${awaited}`,
      x: event.offsetX,
      y: event.offsetY,
    };
  };
  const move = (event: PointerEvent) => {
    const canvas = ref.current;
    if (dragged.current !== undefined && canvas) {
      const [from, to] = span.value;
      pan(((dragged.current - event.offsetX) / (canvas.clientWidth - LABEL)) * (to - from), end);
      dragged.current = event.offsetX;
    }
    setHit(find(event));
  };
  const key = (event: KeyboardEvent) => {
    const [from, to] = span.value;
    if (event.key === 'ArrowLeft') pan(-(to - from) / 10, end);
    else if (event.key === 'ArrowRight') pan((to - from) / 10, end);
    else if (event.key === '+') zoom(1 / 1.5, (from + to) / 2, end);
    else if (event.key === '-') zoom(1.5, (from + to) / 2, end);
    else if (event.key === '0') span.value = [0, end];
    else return;
    event.preventDefault();
  };
  return (
    <div class="strip">
      <canvas
        ref={ref}
        role="img"
        tabIndex={0}
        aria-label={`Timeline of ${strip.name}, ${micros(strip.time_us)}`}
        style={{ height: `${heightOf(strip, rank)}px` }}
        onPointerMove={move}
        onPointerLeave={() => setHit(undefined)}
        onPointerDown={(event) => {
          dragged.current = event.offsetX;
          ref.current?.setPointerCapture(event.pointerId);
        }}
        onPointerUp={() => {
          dragged.current = undefined;
        }}
        onKeyDown={key}
      />
      {hit && (
        <output class="hit" style={{ left: `${Math.min(hit.x, 400)}px`, top: `${hit.y + 14}px` }}>
          {hit.text}
        </output>
      )}
    </div>
  );
}

export function Timelines({ strips, rank, arrows }: { strips: Strip[]; rank: number; arrows: boolean }) {
  const end = Math.max(1, ...strips.map((strip) => strip.trace?.end_us ?? strip.time_us));
  useEffect(() => {
    span.value = [0, end];
  }, [end]);
  return (
    <div class="timelines">
      <p class="legend">
        {KINDS.map((kind, i) => (
          <span key={kind}>
            <i style={{ background: `var(${FILL[i]})` }} /> {kind}
          </span>
        ))}
        <span>
          <i style={{ background: 'var(--exposed)' }} /> exposed: no compute kernel runs
        </span>
      </p>
      <p class="note">
        One time axis for all. Drag or arrow keys move it, Ctrl and wheel or + and − zoom, 0 shows all; hover names the command.
      </p>
      <div class="tools">
        <button type="button" onClick={() => zoom(1 / 1.5, (span.value[0] + span.value[1]) / 2, end)}>
          zoom in
        </button>
        <button type="button" onClick={() => zoom(1.5, (span.value[0] + span.value[1]) / 2, end)}>
          zoom out
        </button>
        <button type="button" onClick={() => (span.value = [0, end])}>
          all
        </button>
        <Shown />
      </div>
      <Ruler />
      {strips.map((strip) => (
        <section key={strip.name} class="timeline">
          <h4>
            {strip.name} <span class="num">{micros(strip.time_us)}</span>
            {strip.perfetto && (
              <button type="button" onClick={() => save(`${strip.name.replaceAll('/', '-')}.trace.json`, strip.perfetto ?? '')}>
                Perfetto trace
              </button>
            )}
          </h4>
          <Canvas strip={strip} rank={rank} arrows={arrows} end={end} />
        </section>
      ))}
    </div>
  );
}

function Shown() {
  const [from, to] = span.value;
  return (
    <span class="num" data-testid="shown">
      {micros(from)} to {micros(to)}
    </span>
  );
}
