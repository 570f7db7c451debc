/** Texts in the commands that a program prints for a shell. */
import { defuseLine } from "./terminal.ts";

/** A text as a shell takes it for one word, made safe to be shown. */
export function shellWord(text: string): string {
  const word = defuseLine(text);
  return /^[\w./][\w./:,%-]*$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
