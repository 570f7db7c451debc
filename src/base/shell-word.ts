/** A text as a shell takes it for one word, whole, since it is to be run: in a command that somebody copies. */
export function shellWord(text: string): string {
  return /^[\w./][\w./:,%-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
