/** Quotes a text as one shell word, for a command to be copied and run. */
export function shellWord(text: string): string {
  return /^[\w./][\w./:,%-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
