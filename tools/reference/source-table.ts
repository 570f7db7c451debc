/** Markdown tables for facts from source code. */

/** Cells by the name in the first column. */
export type Found = Map<string, readonly string[]>;

/** Formats a text as code; empty if the text is. */
export function code(text: string): string {
  return text === "" ? "" : `\`${text}\``;
}

/** Formats a table, sorted by name unless told otherwise. */
export function table(heads: readonly string[], rows: Found, isSorted = true): string {
  const listed = [...rows];
  if (isSorted) listed.sort(([one], [other]) => (one < other ? -1 : 1));
  const lines = listed.map(([name, cells]) => row([code(name), ...cells]));
  return `${[...headOf(heads), ...lines].join("\n")}\n`;
}

/** The two head lines of a table. */
export function headOf(heads: readonly string[]): readonly string[] {
  return [row(heads), `|${heads.map(() => "---|").join("")}`];
}

/** A line of a table; bars in cells are escaped. */
export function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}
