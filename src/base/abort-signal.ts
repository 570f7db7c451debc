/**
 * `AbortSignal`, for declarations that others compile: theirs, wherever it comes from, and what it
 * has at least where they have none.
 */

/** The platform's own, if the program that is compiled knows one. */
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
