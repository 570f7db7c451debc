/** Refusals of the console's API: a status, a code and a message for the person. */

/** Thrown by what answers; the API sends it as `{error: {code, message}}`. */
export class ConsoleFault extends Error {
  readonly statusCode: number;
  readonly code: string;

  constructor(statusCode: number, code: string, message: string) {
    super(message);
    this.statusCode = statusCode;
    this.code = code;
  }
}

/** 404 */
export function unknown(what: string): ConsoleFault {
  return new ConsoleFault(404, "not-found", `there is no such ${what}`);
}

/** 422 */
export function malformed(message: string): ConsoleFault {
  return new ConsoleFault(422, "malformed", message);
}
