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
