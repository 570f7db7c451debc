/** The figures of a plot as a table, the newest first: what the picture says, in words. */
import { html, type VNode } from "../preact.ts";
import { momentText } from "../text.ts";
import type { PlotProps } from "./plot-props.ts";

const MAX_ROWS = 60;

/** Shut until somebody opens it. */
export function PlotTable({ title, moments, lines, text }: PlotProps): VNode {
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
