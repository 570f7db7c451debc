/** Describes a thrown value as text: JavaScript lets anything be thrown. */

/** The message of an error, or the text of what is none. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The stack of an error, or the text of what is none; whatever was thrown, it has one. */
export function traceOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? (thrown.stack ?? thrown.message) : thrown);
  } catch {
    return "something that has no text";
  }
}

/** The code of a platform error, such as `ENOENT`; empty for anything without one. */
export function codeOf(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
}
