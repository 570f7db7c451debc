/**
 * A path or path template as a rule names it: compared with what a path means, not with how it is
 * written, so that no percent-encoding leads around the rule.
 */

/** Compared with paths and with templates. */
export interface PathPattern {
  /** Tells whether a path of a request is meant. */
  matches(path: string): boolean;
  /** Tells whether some path of this template can be meant. */
  canMatch(template: string): boolean;
  /** Tells whether all that another pattern means is meant. */
  covers(other: PathPattern): boolean;
  /** Undefined for what takes any segment. */
  readonly segments: readonly (string | undefined)[];
}

/** Compiles a path or a template of one. */
export function compilePathPattern(text: string): PathPattern {
  const segments = segmentsOf(text).map((one) => (isParameter(one) ? undefined : decode(one)));
  const agree = (
    others: readonly string[],
    fits: (own: string | undefined, other: string) => boolean,
  ): boolean =>
    others.length === segments.length && others.every((other, at) => fits(segments[at], other));
  return {
    segments,
    matches: (path) =>
      agree(segmentsOf(path), (own, other) =>
        own === undefined ? other !== "" : own === decode(other),
      ),
    canMatch: (template) =>
      agree(
        segmentsOf(template),
        (own, other) => own === undefined || isParameter(other) || own === decode(other),
      ),
    covers: (other) =>
      other.segments.length === segments.length &&
      segments.every((own, at) => own === undefined || own === other.segments[at]),
  };
}

function segmentsOf(path: string): readonly string[] {
  return path.slice(1).split("/");
}

/** A step's path may have a parameter as a part of a segment. */
function isParameter(segment: string): boolean {
  return segment.includes("{");
}

function decode(segment: string): string {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
