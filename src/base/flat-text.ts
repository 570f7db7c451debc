/**
 * The same text in one piece of its own. What was put together from pieces is written piece by piece,
 * each time; and a piece cut from a message or a file keeps the whole of it alive. What is not
 * latin1, as heads and paths are, stays as it is.
 */
export function flatText(text: string): string {
  const copy = Buffer.from(text, "latin1").toString("latin1");
  return copy === text ? copy : text;
}
