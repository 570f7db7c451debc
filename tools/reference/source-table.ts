/** Tables of Markdown for what is read off the sources. */

/** Cells by the name in the first column. */
export type Found = Map<string, readonly string[]>;

/** A text as code; nothing for an empty one. */
export function code(text: string): string {
  return text === "" ? "" : `\`${text}\``;
}

/** A table, by name unless told otherwise. */
export function table(heads: readonly string[], rows: Found, isSorted = true): string {
  const listed = [...rows];
  if (isSorted) listed.sort(([one], [other]) => (one < other ? -1 : 1));
  const lines = listed.map(([name, cells]) => row([code(name), ...cells]));
  return `${[...headOf(heads), ...lines].join("\n")}\n`;
}

/** The two lines that a table begins with. */
export function headOf(heads: readonly string[]): readonly string[] {
  return [row(heads), `|${heads.map(() => "---|").join("")}`];
}

/** A line of a table; a bar in a cell is written so that it ends none. */
export function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}
