/** A status as a word in a colour; the word alone says everything. */
import { html, type VNode } from "../preact.ts";
import { visible } from "../text.ts";

const TONES: Readonly<Record<string, string>> = {
  ...{ active: "good", accepted: "good", pinned: "good", ready: "good", connected: "good" },
  ...{
    answers: "good",
    available: "good",
    up: "good",
    alive: "good",
    serving: "good",
    used: "good",
    verified: "good",
  },
  ...{ pending_review: "wait", deferred: "wait", changed: "wait", deprecated: "wait" },
  ...{ suspended: "wait", connecting: "wait", draining: "wait", leaving: "wait", warning: "wait" },
  ...{ rejected: "bad", retired: "bad", revoked: "bad", missing: "bad", failed: "bad" },
  ...{ failing: "bad", down: "bad", lost: "bad", expired: "bad", error: "bad", unavailable: "bad" },
};

/** Longer words may be cut off where there is no room for them. */
const MUCH = 24;

/** The badge of a word. */
export function Badge(props: { readonly word: string }): VNode {
  const { word } = props;
  const tone = Object.hasOwn(TONES, word) ? TONES[word] : "";
  const text = visible(word).replaceAll("_", " ");
  return html`<span class=${`badge ${tone}`} title=${text.length > MUCH ? text : undefined}>${text}</span>`;
}

/** The badge of a response's status. */
export function StatusBadge(props: { readonly status: number }): VNode {
  const { status } = props;
  const tone = status < 260 ? "good" : status < 400 ? "wait" : "bad";
  return html`<span class=${`badge ${tone}`}>${String(status)}</span>`;
}
