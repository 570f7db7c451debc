/**
 * The same text in one piece of its own. What was put together from pieces is written piece by piece,
 * each time; and a piece cut from a message keeps the whole message alive. For latin1, as heads are.
 */
export function flatText(text: string): string {
  return Buffer.from(text, "latin1").toString("latin1");
}
