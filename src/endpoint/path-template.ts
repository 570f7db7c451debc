/** A path template taken apart, as the router compares it with paths.   AGTP-API §5.2, §5.3 */

/** The segments of a path template. */
export interface Template {
  readonly segments: readonly string[];
  /** Positions of the literal segments. */
  readonly literals: readonly number[];
  readonly parameters: readonly { readonly name: string; readonly index: number }[];
}

const PARAMETER = /^\{([A-Za-z0-9_]+)\}$/;

/** Undefined for a path without parameters, which is no template. */
export function compileTemplate(path: string): Template | undefined {
  const segments = path.slice(1).split("/");
  const literals: number[] = [];
  const parameters: { name: string; index: number }[] = [];
  for (const [index, segment] of segments.entries()) {
    const name = PARAMETER.exec(segment)?.[1];
    if (name === undefined) literals.push(index);
    else parameters.push({ name, index });
  }
  return parameters.length === 0 ? undefined : { segments, literals, parameters };
}

/** The values that a template captures from a path, undecoded; undefined when it does not match. */
export function matchTemplate(
  template: string,
  path: string,
): Readonly<Record<string, string>> | undefined {
  const compiled = compileTemplate(template);
  if (compiled === undefined) return template === path ? {} : undefined;
  const segments = segmentsOf(path, compiled.segments.length);
  if (segments === undefined || segments.length !== compiled.segments.length) return undefined;
  if (compiled.literals.some((at) => segments[at] !== compiled.segments[at])) return undefined;
  if (compiled.parameters.some(({ index }) => segments[index] === "")) return undefined;
  return Object.fromEntries(
    compiled.parameters.map(({ name, index }) => [name, segments[index] ?? ""]),
  );
}

/** The segments of a request path; undefined when they are more than any template has. */
export function segmentsOf(path: string, max: number): readonly string[] | undefined {
  if (!path.startsWith("/")) return undefined;
  const segments = path.slice(1).split("/", max + 1);
  return segments.length > max ? undefined : segments;
}

/** The segments at some positions as one key; segments hold no slash, so no two keys are alike. */
export function joinSegments(segments: readonly string[], positions: readonly number[]): string {
  let key = "";
  for (const position of positions) key += `${segments[position]}/`;
  return key;
}
