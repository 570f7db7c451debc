/** A method and a path: what an endpoint is named by, and a request asks for. */
export interface Pair {
  readonly method: string;
  readonly path: string;
}

/** A pair as text: one of them has one text. */
export function pairText({ method, path }: Pair): string {
  return `${method} ${path}`;
}
