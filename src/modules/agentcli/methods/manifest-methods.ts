/** The methods that work on a manifest and touch nothing else: validate, compile, convert; and apply. */

import type { JsonRecord } from "../../../base/json-value.ts";
import { findTarget } from "../compile/target-list.ts";
import { type Failure, invalidArgument, isFailure } from "../failure.ts";
import { convertManifest } from "../manifest/convert.ts";
import { readManifest, validateManifest } from "../manifest/validate.ts";
import { applyManifest } from "../scheduler/apply.ts";
import type { SchedulerLocation } from "../scheduler/invocation.ts";
import { flagOf, hasManifest, type Method, type MethodContext, textOf } from "./method.ts";

/** The verdict is the result, good or bad. */
export const validateMethod: Method = (params) => {
  if (!Object.hasOwn(params, "manifest")) return invalidArgument("manifest is required");
  const { ok, errors, warnings } = validateManifest(params["manifest"]);
  return { ok, errors, warnings };
};

/** Compiles for a target; "standalone" unless another is named. */
export const compileMethod: Method = (params, { defaults }) => {
  if (!Object.hasOwn(params, "manifest")) return invalidArgument("manifest is required");
  const name = textOf(params, "target");
  if (isFailure(name)) return name;
  const wanted = name ?? defaults.target ?? "standalone";
  const target = findTarget(wanted);
  if (target === undefined) return invalidArgument(`Unsupported compile target: ${wanted}`);
  const read = readManifest(params["manifest"]);
  if (isFailure(read)) return read;
  const compiled = target.compile(read.manifest);
  if (isFailure(compiled)) return compiled;
  const { output, explain } = compiled;
  // Anything truthy asks for it, as clients have always been served.
  const isExplained = Boolean(params["explain"]);
  return { ok: true, target: wanted, output: isExplained ? { ...output, explain } : output };
};

/** To version 0.2. */
export const convertMethod: Method = (params) => {
  if (!hasManifest(params)) return invalidArgument("manifest is required");
  const manifest = convertManifest(params["manifest"]);
  return isFailure(manifest) ? manifest : { ok: true, manifest };
};

/** Into a scheduler. */
export const applyMethod: Method = async (params, context) => {
  if (!Object.hasOwn(params, "manifest")) return invalidArgument("manifest is required");
  const mayRunCommands = flagOf(params, "allowProofCommand");
  if (isFailure(mayRunCommands)) return mayRunCommands;
  const isDryRun = flagOf(params, "dryRun");
  if (isFailure(isDryRun)) return isDryRun;
  const isStrict = flagOf(params, "strict");
  if (isFailure(isStrict)) return isStrict;
  const adoptBy = params["adoptBy"] ?? "id";
  if (adoptBy !== "id" && adoptBy !== "name") {
    return invalidArgument(`Invalid adoptBy value: ${String(adoptBy)}. Accepted values: id, name`);
  }
  const location = locationOf(params, context);
  if (isFailure(location)) return location;
  const read = readManifest(params["manifest"]);
  if (isFailure(read)) return read;
  const isExplained = Boolean(params["explain"]);
  const flags = { isDryRun, isStrict, isExplained, mayRunCommands };
  const options = { location, adoptBy, ...flags } as const;
  return applyManifest(read.manifest, options, context.world);
};

function locationOf(params: JsonRecord, { defaults }: MethodContext): SchedulerLocation | Failure {
  const prefix = textOf(params, "schedulerPrefix");
  const bin = textOf(params, "schedulerBin");
  const dbPath = textOf(params, "dbPath");
  for (const text of [prefix, bin, dbPath]) if (isFailure(text)) return text;
  return {
    prefix: (prefix as string | undefined) ?? defaults.schedulerPrefix,
    bin: (bin as string | undefined) ?? defaults.schedulerBin,
    dbPath: (dbPath as string | undefined) ?? defaults.dbPath,
  };
}
