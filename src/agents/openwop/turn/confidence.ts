/**
 * When an agent is too unsure to go on without a word: the run's threshold before the manifest's,
 * the manifest's before 0.7. Equal is sure enough; what is no number between 0 and 1 says nothing.
 * OpenWOP RFC 0002 §F
 */

const USUAL_THRESHOLD = 0.7;

/** The threshold of a turn. */
export function resolveThreshold(ofRun: unknown, ofManifest: number | undefined): number {
  return readConfidence(ofRun) ?? ofManifest ?? USUAL_THRESHOLD;
}

/** A confidence, or nothing. */
export function readConfidence(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 && value <= 1 ? value : undefined;
}
