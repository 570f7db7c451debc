/**
 * A run's `configurable` about its agents' turns. Keys are read one by one, since callers
 * write them; a value that means nothing is passed over.   OpenWOP "Run Options"
 */
import type { JsonRecord } from "../../../base/json-value.ts";
import type { Verbosity } from "../config.ts";
import type { ModelOptions } from "../runtime/agent-runtime.ts";

const VERBOSITIES: readonly Verbosity[] = ["summary", "full", "off"];
const MAX_TEMPERATURE = 2;
const MAX_MODEL_NAME = 256;

/** `reasoningVerbosity` */
export function readVerbosity(configurable: JsonRecord): Verbosity | undefined {
  return VERBOSITIES.find((one) => one === configurable["reasoningVerbosity"]);
}

/** `model`, `temperature` and `maxTokens` */
export function readModelOptions(configurable: JsonRecord): ModelOptions {
  const { model, temperature, maxTokens } = configurable;
  const isTemperature =
    typeof temperature === "number" && temperature >= 0 && temperature <= MAX_TEMPERATURE;
  const isModel = typeof model === "string" && model !== "" && model.length <= MAX_MODEL_NAME;
  const isCount = typeof maxTokens === "number" && Number.isSafeInteger(maxTokens) && maxTokens > 0;
  return {
    ...(isModel ? { model } : {}),
    ...(isTemperature ? { temperature } : {}),
    ...(isCount ? { maxTokens } : {}),
  };
}

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
