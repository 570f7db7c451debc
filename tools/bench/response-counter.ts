/**
 * Counts the responses of one connection without parsing them: all have the same size except the
 * first, which may contain fields sent once per connection (`Supported-Methods`).
 */

/** The expected form of a connection's responses. */
export interface ExpectedResponses {
  /** The first octets of every response: `AGTP/1.0 200`. */
  readonly start: string;
  /** The size of a connection's first response, in octets. */
  readonly firstResponseBytes: number;
  /** The size of each later response. */
  readonly responseBytes: number;
}

/** Counts the responses completed by the next octets of a connection; -1 if one begins unexpectedly. */
type ResponseCounter = (chunk: Uint8Array, length: number) => number;

/** Creates a counter for one connection. The beginning of a response that is split between chunks is not checked. */
export function createResponseCounter(expected: ExpectedResponses): ResponseCounter {
  const start = Buffer.from(expected.start);
  let missing = expected.firstResponseBytes;
  let isBegun = false;
  const differs = (chunk: Uint8Array, at: number): boolean =>
    start.some((octet, i) => chunk[at + i] !== octet);
  return (chunk, length) => {
    let at = 0;
    for (let ended = 0; ; ended += 1) {
      if (!isBegun && at + start.length <= length && differs(chunk, at)) return -1;
      const left = length - at;
      if (left < missing) {
        isBegun ||= left > 0;
        missing -= left;
        return ended;
      }
      at += missing;
      missing = expected.responseBytes;
      isBegun = false;
    }
  };
}
