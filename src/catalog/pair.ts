/** A method and a path, which identify an endpoint and are requested together. */
export interface Pair {
  readonly method: string;
  readonly path: string;
}

/** Returns the text of a pair; it is unique. */
export function pairText({ method, path }: Pair): string {
  return `${method} ${path}`;
}
