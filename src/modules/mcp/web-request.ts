/** Web requests for the library, which stops its work on a request by the request's signal. */

/**
 * Creates a request, or copies one, with exactly this signal. The signal that Request itself derives can be
 * garbage-collected while it has listeners, and then never aborts.
 */
export function createWebRequest(
  from: string | Request,
  signal: AbortSignal,
  init: Omit<RequestInit, "signal"> = {},
): Request {
  return Object.defineProperty(new Request(from, init), "signal", { value: signal });
}
