/** One line that says what the last action came to, read out by screen readers. */

import { html, useEffect, useState, type VNode } from "../preact.ts";
import { visible } from "../text.ts";

interface Said {
  readonly text: string;
  readonly isFault: boolean;
}

const NEWS = "console:said";

/** Says how something went. */
export function say(text: string, isFault = false): void {
  dispatchEvent(new CustomEvent<Said>(NEWS, { detail: { text, isFault } }));
}

/** The place where it stands; one on the whole page. */
export function Notice(): VNode {
  const [said, setSaid] = useState<Said | undefined>(undefined);
  useEffect(() => {
    const update = (event: Event): void => setSaid((event as CustomEvent<Said>).detail);
    addEventListener(NEWS, update);
    return () => removeEventListener(NEWS, update);
  }, []);
  const dismiss = html`<button type="button" onClick=${() => setSaid(undefined)}>Dismiss</button>`;
  return html`<div role="status" aria-live="polite" class="notice">
    ${said && html`<p class=${said.isFault ? "warning" : "done"}>${visible(said.text)} ${dismiss}</p>`}
  </div>`;
}
