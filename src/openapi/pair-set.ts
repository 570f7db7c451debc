/**
 * Pairs of method and path template, to be asked which of them a request for another one could be
 * taken for. Documents have thousands of operations: paths are compared segment by segment, with
 * those of the same method and length only.   AGTP-API §5.4
 */

/** A path template, taken apart. */
interface Template {
  readonly path: string;
  readonly segments: readonly string[];
  readonly parameters: number;
}

/** A set of pairs. */
export class PairSet {
  readonly #templates = new Map<string, Template[]>();

  add(method: string, path: string): void {
    const template = readTemplate(path);
    const key = keyOf(method, template);
    const alike = this.#templates.get(key);
    if (alike === undefined) this.#templates.set(key, [template]);
    else alike.push(template);
  }

  /** Tells whether some request could be for this pair or for one of the set, and nothing would tell which. */
  isAmbiguous(method: string, path: string): boolean {
    const { parameters } = readTemplate(path);
    return this.#overlapping(method, path).some((other) => other.parameters === parameters);
  }

  /** The paths of the set that match some of the paths that this one matches. */
  overlapping(method: string, path: string): readonly string[] {
    return this.#overlapping(method, path).map((other) => other.path);
  }

  #overlapping(method: string, path: string): readonly Template[] {
    const template = readTemplate(path);
    const alike = this.#templates.get(keyOf(method, template)) ?? [];
    return alike.filter((other) => overlap(template.segments, other.segments));
  }
}

function readTemplate(path: string): Template {
  const segments = path.split("/");
  const parameters = segments.filter((segment) => segment.startsWith("{")).length;
  return { path, segments, parameters };
}

function keyOf(method: string, { segments }: Template): string {
  return `${method} ${segments.length}`;
}

function overlap(ours: readonly string[], theirs: readonly string[]): boolean {
  return ours.every((segment, index) => {
    const other = theirs[index] ?? "";
    return segment === other || segment.startsWith("{") || other.startsWith("{");
  });
}
