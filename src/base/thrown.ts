/** Describes a thrown value, which in JavaScript may be anything. */

/** Returns the message of an error, or the text of another value. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** Returns the stack of an error, or the text of another value; never throws. */
export function traceOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? (thrown.stack ?? thrown.message) : thrown);
  } catch {
    return "something that has no text";
  }
}

/** Returns the code of a platform error, such as `ENOENT`; empty for any other value. */
export function codeOf(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
}
