/** Waiting for what may never come, as long as somebody wants it. */

/** What a promise comes to, or "aborted" as soon as the signal says so; then nobody hears of it. */
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
    // What gives up because it was told to has not failed.
    if (signal.aborted) return "aborted";
    throw error;
  } finally {
    if (stop !== undefined) signal.removeEventListener("abort", stop);
  }
}
