/** Waiting for what may never come, as long as somebody wants it. */

/**
 * Resolves like a promise, or to "aborted" as soon as the signal fires; a later result is dropped.
 */
export async function raceAbort<T>(
  promise: Promise<T>,
  signal: AbortSignal,
): Promise<T | "aborted"> {
  promise.catch(() => undefined);
  if (signal.aborted) return "aborted";
  let stop: (() => void) | undefined;
  const aborted = new Promise<"aborted">((resolve) => {
    stop = () => resolve("aborted");
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } catch (error) {
    // Work that gives up because it was told to has not failed.
    if (signal.aborted) return "aborted";
    throw error;
  } finally {
    if (stop !== undefined) signal.removeEventListener("abort", stop);
  }
}
