/**
 * AGTP statuses as HTTP says them: kept where HTTP has the status, and its nearest word where it has
 * not. The original travels beside it as `X-AGTP-Status`.   AGTP "HTTP Gateway"
 */
import type { WireFaultCode } from "../../wire/message.ts";

const MAPPED: ReadonlyMap<number, number> = new Map([
  [261, 202],
  [262, 403],
  [263, 201],
  [455, 403],
  [456, 403],
  [457, 403],
  [458, 409],
  [459, 405],
  [460, 400],
  [461, 409],
  [462, 402],
  [463, 422],
  [464, 404],
  [550, 502],
  [551, 502],
]);

/** The HTTP status of a response; `code` is the `error.code` of its body. */
export function httpStatus(status: number, code?: string): number {
  if (status === 262 && code === "credentials-missing") return 401;
  return MAPPED.get(status) ?? status;
}

const FAULTS: ReadonlyMap<WireFaultCode, number> = new Map([
  ["request-line-too-long", 414],
  ["header-too-large", 431],
  ["body-too-large", 413],
  ["request-timeout", 408],
]);

/** A fault that is no AGTP request is 400 there; HTTP has words for some of it. */
export function faultStatus(code: WireFaultCode): number {
  return FAULTS.get(code) ?? 400;
}
