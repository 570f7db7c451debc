/** Header fields and the bounds of a response, declared without types of Node, for published declarations. */

/** Header fields by lower-case name. Repeated list fields are joined with ", ". */
export interface HeaderFields extends Iterable<readonly [name: string, value: string]> {
  get(name: string): string | undefined;
  has(name: string): boolean;
  readonly size: number;
}

/** One response header field; names are written as given. */
export type HeaderField = readonly [name: string, value: string];

/** The bounds of a response that a client reads. */
export interface ResponseLimits {
  /** The bound of the status line, and separately of the header block. */
  readonly headBytes: number;
  readonly bodyBytes: number;
}
