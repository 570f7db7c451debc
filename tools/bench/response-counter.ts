/**
 * Counts the responses of one connection without parsing them: all are of one size but the first,
 * which may say what a peer says once (`Supported-Methods`).
 */

/** The form of a connection's responses. */
export interface ExpectedResponses {
  /** The beginning of every response: `AGTP/1.0 200`. */
  readonly start: string;
  /** Size of a connection's first response, in octets. */
  readonly firstResponseBytes: number;
  /** Size of each later one. */
  readonly responseBytes: number;
}

/** Takes the next octets of a connection; how many responses they completed, or -1 when one begins otherwise. */
type ResponseCounter = (chunk: Uint8Array, length: number) => number;

/** A counter for one connection. A beginning that two chunks share is not looked at. */
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
