/** Tables of rows: whole ones, whose rows are cards on a telephone, and long ones of what can be seen. */
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

/** One column; `number` stands to the right, `optional` gives way on a narrow screen. */
export type Column<T> = readonly [
  title: string,
  cell: (row: T) => ComponentChildren,
  kind?: "number" | "optional",
];

/** A browser takes seconds to lay out ten thousand rows, and nobody reads them. */
const STEP = 200;

/** The rows under their headings; the first column heads its row. Of very many, some: others are looked for. */
export function Table<T>(props: {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  /** The name of a row, where it is made of several of its values. */
  readonly nameOf?: (row: T) => string;
  /** In the place of no rows. */
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

/** Tells whether a row has the text in its name or one of its values, in any case, as it is or as it is shown. */
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

/** The texts of a value, with the names of members. */
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

/** One column of the list; its class has its width. */
export type ListColumn<T> = readonly [
  title: string,
  name: string,
  cell: (row: T) => ComponentChildren,
];

interface ListProps<T> {
  readonly label: string;
  readonly columns: readonly ListColumn<T>[];
  readonly rows: readonly T[];
  /** Names a row, wherever it stands. */
  readonly keyOf: (row: T) => number;
  readonly empty: string;
  /** The content of a row that is none of the columns'; undefined for a row like all others. */
  readonly whole?: (row: T) => ComponentChildren | undefined;
  /** Called when the end of the list is near. */
  readonly onEnd?: () => void;
}

const ROW_HEIGHT = 44;
/** Rows beyond what can be seen, for the next turn of the wheel. */
const SPARE_ROWS = 16;
/** Rows that are drawn anew together. */
const STEP_ROWS = 8;
/** More rows are asked for while so many are left. */
const AHEAD = 100;

/**
 * A table of very many rows: only those that can be seen are in the page. Rows have one height, so
 * that a place in the list is a multiplication. An element is one row's as long as it is there, and what
 * somebody has scrolled to stays where it is: rows may come above it at any time. Assistive technology is
 * told how many there are.
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

/** The rows that can be seen, by how far the box is scrolled. */
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
  /** The first row in sight, and its place; undefined at the top, where all that comes is seen. */
  const seen = useRef<{ readonly key: number; readonly at: number } | undefined>(undefined);
  // A scroll within one step changes no state, and draws nothing.
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

/** The first row of the step that a place in the list is in. */
function stepOf(pixels: number): number {
  return Math.floor(pixels / ROW_HEIGHT / STEP_ROWS) * STEP_ROWS;
}
