/** The way of a request through the gates, up to the one that refused it or to its answer. */
import type { TrafficDetail } from "../answers.ts";
import { html, type VNode } from "../preact.ts";
import { visible } from "../text.ts";

/** The gates in their order. */
export function Gates(props: {
  readonly gates: TrafficDetail["gates"];
  readonly status: number;
  /** The code of the refusal. */
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
