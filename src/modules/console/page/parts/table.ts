/** A table of rows; on a telephone each row is a card, with the headings beside its values. */
import { type ComponentChildren, html, type VNode } from "../preact.ts";

/** One column; `number` stands to the right, `optional` gives way on a narrow screen. */
export type Column<T> = readonly [
  title: string,
  cell: (row: T) => ComponentChildren,
  kind?: "number" | "optional",
];

/** The rows under their headings; the first column heads its row. */
export function Table<T>(props: {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  /** In the place of no rows. */
  readonly empty: string;
}): VNode {
  const { label, columns, rows, keyOf, empty } = props;
  if (rows.length === 0) return html`<p class="quiet">${empty}</p>`;
  const heads = columns.map(([title, , kind]) => html`<th scope="col" class=${kind}>${title}</th>`);
  return html`<div class="scroll cards" tabindex="0" role="region" aria-label=${label}>
    <table>
      <thead><tr>${heads}</tr></thead>
      <tbody>${rows.map((row) => html`<tr key=${keyOf(row)}>${columns.map(cellOf(row))}</tr>`)}</tbody>
    </table>
  </div>`;
}

function cellOf<T>(row: T): (column: Column<T>, index: number) => VNode {
  return ([title, cell, kind], index) =>
    index === 0
      ? html`<th scope="row" class=${kind}>${cell(row)}</th>`
      : html`<td class=${kind} data-title=${title}><div>${cell(row)}</div></td>`;
}
