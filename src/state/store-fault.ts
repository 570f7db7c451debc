/**
 * Why a store cannot be used for now, or not any more: what its driver threw, in the few kinds that
 * an operator can do something about. The one error by which a server knows that nothing was kept, unless
 * it is `undecided`.
 */
import { codeOf, reasonOf } from "../base/thrown.ts";

/** The ways in which a store fails; `damaged` does not pass by itself. */
export type StoreFaultKind =
  | "full"
  | "read-only"
  | "damaged"
  | "unusable"
  /** Its server cannot be reached, or ends connections. */
  | "unreachable"
  /** Its server does not let this role in, or do this. */
  | "refused"
  /** The connection was lost while a change was made, and its outcome could not be found out. */
  | "undecided";

/**
 * The change that was asked of the store has not happened, and nothing of it is kept; only of `undecided`
 * nobody knows.
 */
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

/** How many causes deep an error is looked into. */
const MAX_DEPTH = 8;

/** The fault of a store in what was thrown, or in what led to it. */
export function findStoreFault(thrown: unknown): StoreUnavailableError | undefined {
  let one = thrown;
  for (let depth = 0; depth < MAX_DEPTH && one instanceof Error; depth += 1) {
    if (one instanceof StoreUnavailableError) return one;
    one = one.cause;
  }
  return undefined;
}

/** Tells whether a store that cannot be used is what was thrown, or what led to it. */
export function isStoreUnavailable(thrown: unknown): boolean {
  return findStoreFault(thrown) !== undefined;
}

/** Leaves out of what is reported the one fault that the store tells of itself, once. */
export function exceptStoreFaults(report: (error: unknown) => void): (error: unknown) => void {
  return (error) => {
    if (!isStoreUnavailable(error)) report(error);
  };
}

/** The meaning of a driver's error; undefined for one that says nothing of the disk. */
export function storeFaultKind(thrown: unknown): StoreFaultKind | undefined {
  const code = codeOf(thrown);
  if (code === "SQLITE_FULL") return "full";
  if (code.startsWith("SQLITE_READONLY")) return "read-only";
  if (code.startsWith("SQLITE_CORRUPT") || code === "SQLITE_NOTADB") return "damaged";
  return /^SQLITE_(IOERR|CANTOPEN|NOMEM|PERM|BUSY|LOCKED|PROTOCOL)/.test(code)
    ? "unusable"
    : undefined;
}
