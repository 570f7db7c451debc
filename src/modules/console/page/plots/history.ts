/** The traffic of the last hour as plots: requests, refusals, and how long they took. */
import type { History, HistoryPoint, Overview } from "../answers.ts";
import { get } from "../api.ts";
import { Section } from "../parts/page.ts";
import { html, useEffect, useState, type VNode } from "../preact.ts";
import { countText, millisecondsText } from "../text.ts";
import { Plot } from "./plot.ts";

/** An hour of steps of five seconds. */
const MAX_POINTS = 720;

/** The plots; `latest` is the step that ended last. */
export function HistoryPlots({ latest }: Pick<Overview, "latest">): VNode {
  const { points, step } = useHistory(latest);
  if (points.length < 2) {
    return html`<${Section} title="The last hour"><p class="quiet">Plots begin ten seconds after the start.</p><//>`;
  }
  const moments = points.map(([at]) => at);
  const perSecond = (count: number): number => Math.round((count / step) * 10) / 10;
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

/** Asked for once; what comes after it comes with the overview. */
function useHistory(latest: HistoryPoint | null) {
  const [step, setStep] = useState(5);
  const [points, setPoints] = useState<readonly HistoryPoint[]>([]);
  useEffect(() => {
    const abort = new AbortController();
    get<History>("/api/history", abort.signal).then(
      (history) => {
        setStep(history.step_s);
        setPoints(history.points);
      },
      () => undefined,
    );
    return () => abort.abort();
  }, []);
  const at = latest?.[0] ?? 0;
  useEffect(() => {
    if (latest === null) return;
    setPoints((known) => {
      const isNew = at > (known.at(-1)?.[0] ?? 0);
      return isNew ? [...known, latest].slice(-MAX_POINTS) : known;
    });
  }, [at]);
  return { points, step };
}
