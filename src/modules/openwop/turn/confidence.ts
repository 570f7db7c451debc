/**
 * When an agent is too unsure to go on without an answer: the run's threshold before the manifest's,
 * the manifest's before 0.7. Equal is sure enough. A confidence that was stated and is no number from
 * 0 to 1 says nothing that can be relied on: it counts as the lowest, and is told as it was stated.
 * OpenWOP RFC 0002 §F
 */

const USUAL_THRESHOLD = 0.7;
const LOWEST = 0;
const MAX_TOLD_LENGTH = 64;

/** The confidence of an agent. */
interface Confidence {
  readonly observed: number;
  /** The value that was stated, where that is no confidence. */
  readonly stated?: string;
}

/** The threshold of a turn. */
export function resolveThreshold(ofRun: unknown, ofManifest: number | undefined): number {
  return isConfidence(ofRun) ? ofRun : (ofManifest ?? USUAL_THRESHOLD);
}

/** Undefined: nothing was stated. */
export function readConfidence(value: unknown): Confidence | undefined {
  if (value === undefined || value === null || Number.isNaN(value)) return undefined;
  if (isConfidence(value)) return { observed: value };
  const text = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? "");
  return { observed: LOWEST, stated: text.slice(0, MAX_TOLD_LENGTH) };
}

function isConfidence(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= 1;
}
