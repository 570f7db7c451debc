/** Lists of names and values, and other small components that many pages use. */
import type { TrafficDetail } from "../../answers.ts";
import { type ComponentChildren, html, useEffect, useState, type VNode } from "../preact.ts";
import { address } from "../router.ts";
import {
  jsonText,
  momentText,
  shortId,
  shortMomentText,
  untilText,
  visible,
  wholeMomentText,
} from "../text.ts";

/** A name with its value; the line is left out if there is none. */
export type Fact = readonly [name: string, value: ComponentChildren | undefined];

/** A list of facts. */
export function Facts(props: { readonly facts: readonly Fact[] }): VNode {
  const shown = props.facts.filter(
    ([, value]) => value !== undefined && value !== null && value !== "",
  );
  return html`<dl class="facts">
    ${shown.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}

/** Longer texts in a table are clipped to a few lines; the title has the whole. */
const MUCH = 160;

/** Text from a stranger, isolated so that it cannot reorder the text beside it. */
export function Stranger(props: { readonly text: unknown }): VNode {
  const text = visible(props.text);
  return text.length > MUCH
    ? html`<bdi class="much" title=${text}>${text}</bdi>`
    : html`<bdi>${text}</bdi>`;
}

/** A time; the title has the exact time, its zone and its distance. */
export function Moment(props: {
  readonly at: string | null | undefined;
  /** True to show the zone and the distance as well. */
  readonly isWhole?: boolean;
  /** True in a narrow column. */
  readonly isShort?: boolean;
}): VNode {
  const { at, isWhole = false, isShort = false } = props;
  useSeconds(isWhole);
  if (at === null || at === undefined) return html`<span>–</span>`;
  const whole = wholeMomentText(at);
  return html`<time datetime=${at} title=${whole}>${isWhole ? whole.replace(/ \([^(]*\)$/, "") : isShort ? shortMomentText(at) : momentText(at)}</time>`;
}

/** The remaining time until a moment, updated every second. */
export function Until(props: { readonly at: string | null | undefined }): VNode {
  useSeconds(true);
  return html`<span>${untilText(props.at)}</span>`;
}

/** Redraws the component every second if it shows a distance in time. */
function useSeconds(tells: boolean): void {
  const [, tick] = useState(0);
  useEffect(() => {
    if (!tells) return undefined;
    const timer = setInterval(() => tick((count) => count + 1), 1000);
    return () => clearInterval(timer);
  }, [tells]);
}

/** A JSON value in a scrolling box. */
export function Json(props: { readonly value: unknown; readonly label: string }): VNode {
  const { value, label } = props;
  return html`<pre class="code" tabindex="0" role="region" aria-label=${label}>${jsonText(value)}</pre>`;
}

/** An agent's name, linked to its page. */
export function AgentLink(props: {
  readonly id: string | null;
  readonly name?: string | null | undefined;
}): VNode {
  const { id, name } = props;
  if (id === null || id === "") return html`<span class="quiet">nobody</span>`;
  const isNamed = name !== undefined && name !== null && name !== "";
  const shown = isNamed ? html`<${Stranger} text=${name} />` : html`<code>${shortId(id)}</code>`;
  return html`<a href=${address("agents", id)} title=${visible(id)}>${shown}</a>`;
}

/** A long code, shown whole and breakable anywhere. */
export function LongId(props: { readonly id: string | null | undefined }): VNode {
  const text = visible(props.id ?? "–");
  return text.length > MUCH
    ? html`<code class="long much" title=${text}>${text}</code>`
    : html`<code class="long">${text}</code>`;
}

const TONES: ReadonlyMap<string, string> = new Map([
  ...wordsOf("good", "active accepted pinned ready connected answers available up alive serving"),
  ...wordsOf("good", "used verified"),
  ...wordsOf("wait", "pending_review deferred changed deprecated suspended connecting draining"),
  ...wordsOf("wait", "leaving warning"),
  ...wordsOf("bad", "rejected retired revoked missing failed failing down lost expired error"),
  ...wordsOf("bad", "unavailable"),
]);

function wordsOf(tone: string, words: string): readonly (readonly [string, string])[] {
  return words.split(" ").map((word) => [word, tone]);
}

/** A longer word gets a title, since narrow columns may cut it off. */
const MUCH_WORD = 24;

/** A badge with a word. */
export function Badge(props: { readonly word: string }): VNode {
  const { word } = props;
  const tone = TONES.get(word) ?? "";
  const text = visible(word).replaceAll("_", " ");
  return html`<span class=${`badge ${tone}`} title=${text.length > MUCH_WORD ? text : undefined}>${text}</span>`;
}

/** A badge with a response status. */
export function StatusBadge(props: { readonly status: number }): VNode {
  const { status } = props;
  const tone = status < 260 ? "good" : status < 400 ? "wait" : "bad";
  return html`<span class=${`badge ${tone}`}>${String(status)}</span>`;
}

/** The gates in order. */
export function Gates(props: {
  readonly gates: TrafficDetail["gates"];
  readonly status: number;
  /** The code of the refusal, if there is one. */
  readonly code: string | null;
}): VNode {
  const { gates, status, code } = props;
  const isRefused = gates.some(({ passed }) => !passed);
  const refused = code === null ? "refused" : `refused: ${visible(code)}`;
  return html`<ol class="gates">
    ${gates.map(
      ({ name, passed }) => html`<li key=${name} class=${passed ? "passed" : "refused"}>
        <span class="gate-name">${visible(name)}</span>
        <span>${passed ? "passed" : refused}</span>
      </li>`,
    )}
    ${
      !isRefused &&
      html`<li class="answered"><span class="gate-name">answer</span><span>${String(status)}</span></li>`
    }
  </ol>`;
}
