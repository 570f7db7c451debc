/** Header fields and the bounds of a response, for declarations that others compile: without types of Node. */

/** Header fields by lower-case name. Repeated list fields are joined with ", ". */
export interface HeaderFields extends Iterable<readonly [name: string, value: string]> {
  get(name: string): string | undefined;
  has(name: string): boolean;
  readonly size: number;
}

/** One response header field; names are written as given. */
export type HeaderField = readonly [name: string, value: string];

/** The bounds of one response that a client reads. */
export interface ResponseLimits {
  /** The status line, and again the header block. */
  readonly headBytes: number;
  readonly bodyBytes: number;
}
