/**
 * Every status code this server may send, and its text. The only place with status numbers and
 * names together; the text is informational on the wire.   AGTP "Status Codes", AGTP-API §11
 */

export const STATUS_TEXT = {
  200: "OK",
  202: "Accepted",
  204: "No Content",
  261: "Negotiation In Progress",
  262: "Authorization Required",
  263: "Proposal Approved",
  301: "Moved Permanently",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Timeout",
  409: "Conflict",
  410: "Gone",
  422: "Unprocessable Entity",
  429: "Too Many Requests",
  455: "Scope Violation",
  456: "Budget Exceeded",
  457: "Zone Violation",
  458: "Counterparty Unverified",
  459: "Method Violation",
  460: "Endpoint Violation",
  461: "RCNS Contract Available",
  462: "Insufficient Budget",
  463: "Proposal Rejected",
  464: "RCNS No Contract",
  500: "Server Error",
  501: "Not Implemented",
  503: "Unavailable",
  550: "Delegation Failure",
  551: "Authority Chain Broken",
} as const;

export type Status = keyof typeof STATUS_TEXT;

/** Tells whether a number is a status this server knows. */
export function isStatus(value: number): value is Status {
  return Object.hasOwn(STATUS_TEXT, value);
}

/** The statuses that mean the call did what it was asked to; 262 is a refusal, 261 is pending. */
export function isSuccess(status: number): boolean {
  return status === 200 || status === 202 || status === 204 || status === 263;
}

/** Codes of AGTP's own, which are operational signals and are always logged. */
export function isAgtpSpecific(status: number): boolean {
  return (status >= 261 && status <= 263) || (status >= 455 && status <= 464) || status >= 550;
}
