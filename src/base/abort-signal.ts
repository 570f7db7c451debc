/**
 * `AbortSignal` for published declarations: the compiling program's own type, or the necessary
 * members if it has none.
 */

/** The platform's type, if the compiling program has one. */
export type CallSignal = typeof globalThis extends { AbortSignal: { prototype: infer T } }
  ? T
  : LeastSignal;

interface LeastSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: "abort", listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}
