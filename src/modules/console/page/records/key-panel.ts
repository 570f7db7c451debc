/** The keys that this browser checks records with: those pinned, and those that the server offers. */
import { Moment } from "../parts/facts.ts";
import { Pending } from "../parts/page.ts";
import { html, type VNode } from "../preact.ts";
import { visible } from "../text.ts";
import type { PinnedKey } from "./pins.ts";
import { type Keys, useKeys } from "./use-keys.ts";

/** The keys, with the question whether to trust those that are new. */
export function KeyPanel(): VNode {
  const keys = useKeys();
  if (keys.offered === undefined) return html`<${Pending} error=${keys.error} />`;
  return html`<div class="keys">
    <${Offered} keys=${keys} offered=${keys.offered} />
    <${Pinned} keys=${keys} />
  </div>`;
}

function Offered(props: {
  readonly keys: Keys;
  readonly offered: readonly PinnedKey[];
}): VNode | undefined {
  const { keys, offered } = props;
  if (offered.length === 0) {
    if (keys.pins.length > 0) return undefined;
    return html`<p class="warning">This server does not sign its records: nothing can vouch for them.</p>`;
  }
  const isFirst = keys.pins.length === 0;
  return html`<div class="warning" role="note" aria-label=${isFirst ? "Pin a key" : "New key"}>
    <p>${
      isFirst
        ? "No key is pinned in this browser. Compare the fingerprint with the one that the operator of the server gave you, and pin the key if it is the same."
        : "The server signs with a key that is not pinned in this browser. Unless its operator has told you of a new key, somebody else may be signing."
    }</p>
    <ul class="key-list">${offered.map(
      (key) => html`<li key=${key.x}><${KeyName} pinned=${key} />
        <button type="button" onClick=${() => keys.pin(key)}>Pin key</button></li>`,
    )}</ul>
  </div>`;
}

function Pinned({ keys }: { readonly keys: Keys }): VNode | undefined {
  if (keys.pins.length === 0) return undefined;
  return html`<ul class="key-list" aria-label="Pinned keys">${keys.pins.map(
    (key) => html`<li key=${key.x}><${KeyName} pinned=${key} />
      <span class="quiet">pinned <${Moment} at=${key.pinnedAt} /></span>
      <button type="button" onClick=${() => keys.unpin(key)}>Remove pin</button></li>`,
  )}</ul>`;
}

function KeyName({ pinned }: { readonly pinned: PinnedKey }): VNode {
  return html`<span class="key"><strong>${visible(pinned.kid)}</strong> <span class="quiet">SHA-256</span>${" "}
    <code class="long">${visible(pinned.fingerprint)}</code></span>`;
}
