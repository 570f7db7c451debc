/** The pauses between one attempt and the next: how long they are, and waiting for their end. */

/** Pauses that double. */
export interface BackOff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** The pause after so many attempts. */
export function pauseAfter(attempts: number, { firstMs, longestMs }: BackOff): number {
  return Math.min(longestMs, firstMs * 2 ** Math.min(Math.max(attempts, 1) - 1, 20));
}

/** Resolves with true after so long, with false once the signal aborts; keeps no process alive. */
export function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const leave = (): void => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", leave);
      resolve(true);
    }, ms).unref();
    signal.addEventListener("abort", leave, { once: true });
  });
}
