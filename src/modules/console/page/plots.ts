/** Plots of the last hour's traffic: requests, refusals, and latencies. */
import type { History, HistoryPoint, Overview } from "../answers.ts";
import { useApi } from "./api.ts";
import { useEvents } from "./events.ts";
import { Section } from "./parts/page.ts";
import { html, UPlot, useEffect, useRef, useState, type VNode } from "./preact.ts";
import { countText, millisecondsText, momentText } from "./text.ts";

const HOUR_S = 3600;
/** Steps without a point before a gap is drawn: a busy daemon may end a step late. */
const MOST_STEPS = 3;

/** The plots; `latest` is the latest completed step. */
export function HistoryPlots({ latest }: Pick<Overview, "latest">): VNode {
  const { points: known, step } = useHistory(latest);
  const points = withGaps(known, step);
  if (known.length < 2) {
    return html`<${Section} title="The last hour"><p class="quiet">Plots begin ten seconds after the start.</p><//>`;
  }
  const moments = points.map(([at]) => at);
  const perSecond = (count: number | null): number | null =>
    count === null ? null : Math.round((count / step) * 10) / 10;
  const traffic = [
    {
      ...{ name: "Requests", colour: "--accent" },
      values: points.map(([, requests]) => perSecond(requests)),
    },
    {
      ...{ name: "Refused", colour: "--bad" },
      values: points.map(([, , refused]) => perSecond(refused)),
    },
  ];
  const latency = [
    { name: "Median", colour: "--accent", values: points.map(([, , , p50]) => p50) },
    { name: "99 %", colour: "--wait", values: points.map(([, , , , p99]) => p99) },
  ];
  return html`<${Section} title="The last hour"><div class="columns plots">
    <${Plot} title="Requests per second" moments=${moments} lines=${traffic} text=${countText} />
    <${Plot} title="Latency" moments=${moments} lines=${latency} text=${millisecondsText} />
  </div><//>`;
}

/** Fetches the history, again whenever the stream reopens; later points come with the overview. */
function useHistory(latest: HistoryPoint | null) {
  const { data, error, reload } = useApi<History>("/api/history");
  const [points, setPoints] = useState<readonly HistoryPoint[]>([]);
  const add = (fresh: readonly HistoryPoint[]): void => setPoints((known) => joined(known, fresh));
  useEffect(() => add(data?.points ?? []), [data]);
  useEffect(() => add(latest === null ? [] : [latest]), [latest?.[0]]);
  useEvents("open", () => {
    if (data !== undefined || error !== undefined) reload();
  });
  return { points, step: data?.step_s ?? 5 };
}

/** Merges two lists of steps, each step once, in order, and none older than an hour before the last. */
function joined(
  known: readonly HistoryPoint[],
  fresh: readonly HistoryPoint[],
): readonly HistoryPoint[] {
  const all = [...new Map([...known, ...fresh].map((one) => [one[0], one])).values()];
  all.sort(([a], [b]) => a - b);
  const since = (all.at(-1)?.[0] ?? 0) - HOUR_S;
  return all.filter(([at]) => at > since);
}

/** A step; without data it has no figures. */
type Step = HistoryPoint | readonly [at: number, ...unknown: readonly [null, null, null, null]];

/** Inserts a step without data wherever steps are missing, such as while the daemon was stopped. */
function withGaps(points: readonly HistoryPoint[], step: number): readonly Step[] {
  return points.flatMap((point, index) => {
    const next = points[index + 1]?.[0] ?? 0;
    const isFollowed = next - point[0] <= MOST_STEPS * step;
    return isFollowed ? [point] : [point, [point[0] + step, null, null, null, null] as const];
  });
}

interface Line {
  readonly name: string;
  /** A colour variable of the style sheet: `--accent`. */
  readonly colour: string;
  /** One value for each moment; null without data. */
  readonly values: readonly (number | null)[];
}

/** A plot and the format of its values. */
interface PlotProps {
  readonly title: string;
  /** Seconds since the epoch, in order. */
  readonly moments: readonly number[];
  readonly lines: readonly Line[];
  readonly text: (value: number | null) => string;
}

const HEIGHT = 180;
/** Minimal distance between two times on the axis, in pixels. */
const CLOCK_WIDTH = 96;
/** Height of the time axis, in pixels. */
const CLOCK_HEIGHT = 28;

/**
 * A plot over time in the page's light or dark colours; screen readers get a sentence, and everyone the same figures
 * as a table.
 */
function Plot(props: PlotProps): VNode {
  const { title, lines, moments, text } = props;
  const box = usePlot(props);
  return html`<figure class="plot">
    <figcaption><span class="plot-title">${title}</span>
      <span class="legend">${lines.map(
        ({ name, values }, index) => html`<span key=${name} class=${`legend-entry line-${index}`}>
          <span class="swatch" aria-hidden="true"></span>${name} <strong>${text(values.at(-1) ?? null)}</strong></span>`,
      )}</span>
    </figcaption>
    <div class="plot-box" role="img" aria-label=${sentence(props)} ref=${box}></div>
    <${PlotTable} title=${title} moments=${moments} lines=${lines} text=${text} />
  </figure>`;
}

/** Describes the plot in a sentence for screen readers. */
function sentence({ title, lines, text }: PlotProps): string {
  const parts = lines.map(({ name, values }) => {
    const known = values.filter((value) => value !== null);
    if (known.length === 0) return `${name}: nothing yet`;
    return `${name}: now ${text(values.at(-1) ?? null)}, at most ${text(Math.max(...known))}`;
  });
  return `${title}. ${parts.join("; ")}.`;
}

/** Draws a plot into a box; redraws it if the colours or the lines change, and keeps it as wide as the box. */
function usePlot({ moments, lines }: PlotProps) {
  const box = useRef<HTMLElement | null>(null);
  const plot = useRef<UPlot | undefined>(undefined);
  const data = [moments, ...lines.map(({ values }) => values)] as unknown as UPlot.AlignedData;
  const latest = useRef(data);
  latest.current = data;
  const key = lines.map(({ name }) => name).join("\n");
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const draw = (): void => {
      plot.current?.destroy();
      plot.current = new UPlot(optionsOf(element, lines), latest.current, element);
    };
    draw();
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", draw);
    const resize = new ResizeObserver(() => {
      plot.current?.setSize({ width: element.clientWidth, height: HEIGHT });
    });
    resize.observe(element);
    return () => {
      resize.disconnect();
      scheme.removeEventListener("change", draw);
      plot.current?.destroy();
    };
  }, [key]);
  useEffect(() => plot.current?.setData(latest.current));
  return box;
}

function optionsOf(element: HTMLElement, lines: readonly Line[]): UPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour("--quiet"),
    font: `12px ${style.fontFamily}`,
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    ...{ width: element.clientWidth, height: HEIGHT, legend: { show: false } },
    cursor: { show: false },
    // Room for the right half of the last time.
    padding: [8, 28, 0, 0],
    scales: { y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.1 : 1] } },
    axes: [
      {
        ...axis,
        size: CLOCK_HEIGHT,
        space: CLOCK_WIDTH,
        values: (_plot, moments) => moments.map(clockOf),
      },
      { ...axis, size: 48 },
    ],
    series: [
      {},
      ...lines.map((line) => ({
        ...{ label: line.name, stroke: colour(line.colour), width: 2, spanGaps: false },
        // A value between gaps has no line, so it gets a point.
        points: { size: 5, filter: ({ data }: UPlot, index: number) => loneOf(data[index] ?? []) },
        fill: `${colour(line.colour)}1f`,
      })),
    ],
  };
}

/** Returns the indices of values between gaps. */
function loneOf(values: UPlot.AlignedData[number]): number[] {
  const isGap = (at: number): boolean => (values[at] ?? null) === null;
  const places = Array.from(values, (_, at) => at);
  return places.filter((at) => !isGap(at) && isGap(at - 1) && isGap(at + 1));
}

/** Formats a time for the axis. */
function clockOf(seconds: number): string {
  return momentText(isoOf(seconds));
}

const MAX_ROWS = 60;

/** The figures as a table, collapsed at first. */
function PlotTable({ title, moments, lines, text }: PlotProps): VNode {
  const count = Math.min(MAX_ROWS, moments.length);
  const rows = Array.from({ length: count }, (_, index) => moments.length - 1 - index);
  return html`<details class="plot-table"><summary>${title} as a table</summary>
    <div class="scroll" tabindex="0" role="region" aria-label=${`${title} as a table`}>
      <table>
        <thead><tr><th scope="col">Time</th>${lines.map(({ name }) => html`<th scope="col" class="number">${name}</th>`)}</tr></thead>
        <tbody>${rows.map(
          (at) => html`<tr key=${moments[at]}><th scope="row">${momentText(isoOf(moments[at]))}</th>
            ${lines.map(({ name, values }) => html`<td key=${name} class="number">${text(values[at] ?? null)}</td>`)}</tr>`,
        )}</tbody>
      </table>
    </div>
  </details>`;
}

function isoOf(seconds = 0): string {
  return new Date(seconds * 1000).toISOString();
}
