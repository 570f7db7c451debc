/** Names and values beside each other, and other small pieces that many pages have. */
import { type ComponentChildren, html, type VNode } from "../preact.ts";
import { address } from "../router.ts";
import {
  jsonText,
  momentText,
  shortId,
  shortMomentText,
  visible,
  wholeMomentText,
} from "../text.ts";

/** One name with its value; without one the line is left out. */
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

/** Longer texts are shown in a few lines where they stand in a table; the whole is there. */
const MUCH = 160;

/** A stranger's text: isolated, so that it cannot turn what stands beside it. */
export function Stranger(props: { readonly text: unknown }): VNode {
  const text = visible(props.text);
  return text.length > MUCH
    ? html`<bdi class="much" title=${text}>${text}</bdi>`
    : html`<bdi>${text}</bdi>`;
}

/** A moment; the exact one, its zone and its distance can be read. */
export function Moment(props: {
  readonly at: string | null | undefined;
  /** The zone and the distance stand beside it. */
  readonly isWhole?: boolean;
  /** It stands in a narrow column. */
  readonly isShort?: boolean;
}): VNode {
  const { at, isWhole = false, isShort = false } = props;
  if (at === null || at === undefined) return html`<span>–</span>`;
  const whole = wholeMomentText(at);
  return html`<time datetime=${at} title=${whole}>${isWhole ? whole.replace(/ \([^(]*\)$/, "") : isShort ? shortMomentText(at) : momentText(at)}</time>`;
}

/** A JSON value as it is, in a box that scrolls. */
export function Json(props: { readonly value: unknown; readonly label: string }): VNode {
  const { value, label } = props;
  return html`<pre class="code" tabindex="0" role="region" aria-label=${label}>${jsonText(value)}</pre>`;
}

/** An agent by its name, which leads to its page. */
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

/** A code that is longer than a line: whole, breaking anywhere. */
export function LongId(props: { readonly id: string | null | undefined }): VNode {
  const text = visible(props.id ?? "–");
  return text.length > MUCH
    ? html`<code class="long much" title=${text}>${text}</code>`
    : html`<code class="long">${text}</code>`;
}
