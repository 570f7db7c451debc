/** Requests as the library reads them, which ends what it does for one by the signal of it. */

/**
 * A request, or a copy of one, with exactly this signal: the one that a Request makes of it is
 * collected while it is listened to, and never aborts then.
 */
export function createWebRequest(
  from: string | Request,
  signal: AbortSignal,
  init: Omit<RequestInit, "signal"> = {},
): Request {
  return Object.defineProperty(new Request(from, init), "signal", { value: signal });
}
