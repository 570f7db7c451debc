/** Tables: whole ones, whose rows become cards on a telephone, and long ones that render only visible rows. */
import {
  type ComponentChildren,
  html,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  type VNode,
} from "../preact.ts";
import { countText, visible } from "../text.ts";

/** One column; `number` is right-aligned, `optional` is hidden on a narrow screen. */
export type Column<T> = readonly [
  title: string,
  cell: (row: T) => ComponentChildren,
  kind?: "number" | "optional",
];

/** Rows shown at first: a browser takes seconds to lay out ten thousand, and nobody reads them. */
const STEP = 200;

/** Rows under headings; the first column heads its row. A long table shows some rows and a search field. */
export function Table<T>(props: {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  /** The searchable name of a row, if it combines several values. */
  readonly nameOf?: (row: T) => string;
  /** The text if there are no rows. */
  readonly empty: string;
}): VNode {
  const { label, columns, rows, keyOf, nameOf, empty } = props;
  const [wanted, setWanted] = useState("");
  const [most, setMost] = useState(STEP);
  if (rows.length === 0) return html`<p class="quiet">${empty}</p>`;
  const isLong = rows.length > STEP;
  const found = isLong && wanted !== "" ? rows.filter(hasText(wanted, nameOf)) : rows;
  const shown = found.slice(0, most);
  const find = ({ target }: Event): void => setWanted((target as HTMLInputElement).value.trim());
  const counts = `${countText(shown.length)} of ${countText(found.length)} shown`;
  const heads = columns.map(([title, , kind]) => html`<th scope="col" class=${kind}>${title}</th>`);
  return html`${
    isLong &&
    html`<div class="filters">
      <label class="field">Find <input type="search" autocomplete="off" spellcheck=${false} value=${wanted} onInput=${find} /></label>
      <p class="quiet" role="status">${counts}</p>
    </div>`
  }<div class="scroll cards" tabindex="0" role="region" aria-label=${label}>
    <table>
      <thead><tr>${heads}</tr></thead>
      <tbody>${shown.map((row) => html`<tr key=${keyOf(row)}>${columns.map(cellOf(row))}</tr>`)}</tbody>
    </table>
  </div>${
    found.length > most &&
    html`<button type="button" onClick=${() => setMost(most + STEP)}>Show ${STEP} more</button>`
  }`;
}

/** Matches rows whose name or a value contains the text, in any case, either raw or as shown. */
function hasText<T>(text: string, nameOf?: (row: T) => string): (row: T) => boolean {
  const wanted = text.toLowerCase();
  const has = (one: string): boolean => one.toLowerCase().includes(wanted);
  return (row) => {
    const texts = [
      ...Object.values(row as object).flatMap(textsIn),
      ...(nameOf === undefined ? [] : [nameOf(row)]),
    ];
    return texts.some((one) => has(one) || has(visible(one)));
  };
}

/** Returns the texts in a value, including member names. */
function textsIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (typeof value !== "object" || value === null) return [String(value)];
  return Object.entries(value).flatMap(([name, one]) => [name, ...textsIn(one)]);
}

function cellOf<T>(row: T): (column: Column<T>, index: number) => VNode {
  return ([title, cell, kind], index) =>
    index === 0
      ? html`<th scope="row" class=${kind}>${cell(row)}</th>`
      : html`<td class=${kind} data-title=${title}><div>${cell(row)}</div></td>`;
}

/** One column of a long table; its class sets the width. */
export type ListColumn<T> = readonly [
  title: string,
  name: string,
  cell: (row: T) => ComponentChildren,
];

interface ListProps<T> {
  readonly label: string;
  readonly columns: readonly ListColumn<T>[];
  readonly rows: readonly T[];
  /** The identity of a row, independent of its position. */
  readonly keyOf: (row: T) => number;
  readonly empty: string;
  /** Content that spans a row in place of the columns; undefined for an ordinary row. */
  readonly whole?: (row: T) => ComponentChildren | undefined;
  /** Called near the end of the list. */
  readonly onEnd?: () => void;
}

const ROW_HEIGHT = 44;
/** Rows rendered beyond the visible ones, for the next turn of the wheel. */
const SPARE_ROWS = 16;
/** Rows by which the rendered window moves. */
const STEP_ROWS = 8;
/** Remaining rows at which more are requested. */
const AHEAD = 100;

/**
 * A table of very many rows that renders only the visible ones. Rows have one height, so a position is a
 * multiplication. An element belongs to one row while it exists, and the scroll position follows its row: rows may be
 * added above at any time. Assistive technology gets the total count.
 */
export function VirtualList<T>(props: ListProps<T>): VNode {
  const { label, columns, rows, keyOf, empty, onEnd, whole } = props;
  const { box, first, count, onScroll } = useWindow(rows, keyOf);
  const end = Math.min(rows.length, first + count);
  useEffect(() => {
    if (end + AHEAD >= rows.length) onEnd?.();
  }, [end, rows.length, onEnd]);
  if (rows.length === 0) return html`<p class="quiet">${empty}</p>`;
  const shown = rows.slice(first, end);
  const heads = columns.map(
    ([title, name]) => html`<span role="columnheader" class=${name}>${title}</span>`,
  );
  return html`<div class="list" role="table" aria-label=${label} aria-rowcount=${rows.length + 1}>
    <div role="rowgroup" class="list-head"><div role="row" aria-rowindex="1" class="list-row">${heads}</div></div>
    <div role="rowgroup" class="list-body" tabindex="0" aria-label=${label} ref=${box} style=${{ maxHeight: `${rows.length * ROW_HEIGHT}px` }} onScroll=${onScroll}>
      <div role="presentation" class="list-space" style=${{ height: `${rows.length * ROW_HEIGHT}px` }}>
        ${shown.map((row, index) => rowOf(cellsOf(row, columns, whole?.(row)), first + index, keyOf(row)))}
      </div>
    </div>
  </div>`;
}

function cellsOf<T>(
  row: T,
  columns: readonly ListColumn<T>[],
  whole: ComponentChildren | undefined,
): readonly VNode[] {
  if (whole !== undefined) {
    return [
      html`<span key="whole" role="cell" aria-colspan=${columns.length} class="c-whole">${whole}</span>`,
    ];
  }
  return columns.map(
    ([, name, cell]) => html`<span key=${name} role="cell" class=${name}>${cell(row)}</span>`,
  );
}

function rowOf(cells: readonly VNode[], index: number, key: number): VNode {
  const style = { transform: `translateY(${index * ROW_HEIGHT}px)` };
  return html`<div key=${key} role="row" aria-rowindex=${index + 2} class="list-row" style=${style}>${cells}</div>`;
}

/** The rendered rows, by the scroll position of the box. */
function useWindow<T>(rows: readonly T[], keyOf: (row: T) => number) {
  const { length } = rows;
  const box = useRef<HTMLElement | null>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  useEffect(() => {
    const update = (): void => setHeight(box.current?.clientHeight ?? 600);
    update();
    addEventListener("resize", update);
    return () => removeEventListener("resize", update);
  }, [length === 0]);
  const first = Math.max(0, top - SPARE_ROWS);
  const count = Math.ceil(height / ROW_HEIGHT) + 2 * SPARE_ROWS + STEP_ROWS;
  /** The first visible row and its index; undefined at the top, where new rows stay visible. */
  const seen = useRef<{ readonly key: number; readonly at: number } | undefined>(undefined);
  // Scrolling within one step changes no state, and redraws nothing.
  const onScroll = (): void => {
    const pixels = box.current?.scrollTop ?? 0;
    const at = Math.floor(pixels / ROW_HEIGHT);
    const row = rows[at];
    seen.current = pixels > 0 && row !== undefined ? { key: keyOf(row), at } : undefined;
    setTop(stepOf(pixels));
  };
  useLayoutEffect(() => {
    if (box.current === null || seen.current === undefined) return;
    const { key, at } = seen.current;
    const now = rows.findIndex((row, index) => index >= at && keyOf(row) === key);
    if (now <= at) return;
    box.current.scrollTop += (now - at) * ROW_HEIGHT;
    onScroll();
  }, [rows]);
  return { box, first: Math.min(first, Math.max(0, length - count)), count, onScroll };
}

/** The first row of the step at a scroll position. */
function stepOf(pixels: number): number {
  return Math.floor(pixels / ROW_HEIGHT / STEP_ROWS) * STEP_ROWS;
}
