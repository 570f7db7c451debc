/**
 * Reasons why a store is unusable, for now or for good: driver errors, grouped by the remedy that an operator has.
 * This error alone tells the server that nothing was stored, unless it is `undecided`.
 */
import { codeOf, reasonOf } from "../base/thrown.ts";

/** The kinds of store failures; `damaged` does not resolve by itself. */
export type StoreFaultKind =
  | "full"
  | "read-only"
  | "damaged"
  | "unusable"
  /** The server cannot be reached, or drops connections. */
  | "unreachable"
  /** The server refuses this role, or the operation. */
  | "refused"
  /** The connection was lost during a commit, and its outcome could not be determined. */
  | "undecided";

/** Thrown when a change was not made and nothing of it is stored; with `undecided`, that is unknown. */
export class StoreUnavailableError extends Error {
  override readonly name = "StoreUnavailableError";
  readonly kind: StoreFaultKind;

  constructor(kind: StoreFaultKind, cause: unknown) {
    super(`the store ${MESSAGES[kind]}: ${reasonOf(cause)}`, { cause });
    this.kind = kind;
  }
}

const MESSAGES: Readonly<Record<StoreFaultKind, string>> = {
  full: "has no room left",
  "read-only": "cannot be written",
  damaged: "is damaged",
  unusable: "cannot be used",
  unreachable: "cannot be reached",
  refused: "refuses this role",
  undecided: "did not say what became of a change",
};

/** How many causes deep an error is searched. */
const MAX_DEPTH = 8;

/** Returns the store fault among an error and its causes. */
export function findStoreFault(thrown: unknown): StoreUnavailableError | undefined {
  let one = thrown;
  for (let depth = 0; depth < MAX_DEPTH && one instanceof Error; depth += 1) {
    if (one instanceof StoreUnavailableError) return one;
    one = one.cause;
  }
  return undefined;
}

/** True if a store fault is among an error and its causes. */
export function isStoreUnavailable(thrown: unknown): boolean {
  return findStoreFault(thrown) !== undefined;
}

/** Wraps a reporter to skip store faults, which the store reports itself, once. */
export function exceptStoreFaults(report: (error: unknown) => void): (error: unknown) => void {
  return (error) => {
    if (!isStoreUnavailable(error)) report(error);
  };
}

/** Returns the kind of a driver's error; undefined if it does not concern the disk. */
export function storeFaultKind(thrown: unknown): StoreFaultKind | undefined {
  const code = codeOf(thrown);
  if (code === "SQLITE_FULL") return "full";
  if (code.startsWith("SQLITE_READONLY")) return "read-only";
  if (code.startsWith("SQLITE_CORRUPT") || code === "SQLITE_NOTADB") return "damaged";
  return /^SQLITE_(IOERR|CANTOPEN|NOMEM|PERM|BUSY|LOCKED|PROTOCOL)/.test(code)
    ? "unusable"
    : undefined;
}
