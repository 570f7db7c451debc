/** All methods of the protocol by name.   agentcli protocol "Methods" */

import { VERSION } from "../../../base/version.ts";
import { findTarget, listTargets } from "../compile/targets.ts";
import { invalidArgument, isFailure } from "../failure.ts";
import { convertManifest } from "../manifest/convert.ts";
import { MANIFEST_VERSION, readManifest, validateManifest } from "../manifest/validate.ts";
import { applyManifest } from "../scheduler/apply.ts";
import { describe } from "./descriptions.ts";
import {
  evaluateMethod,
  PROVIDER_METHODS,
  resolveMethod,
  validateDelegationMethod,
} from "./governance-methods.ts";
import { inspectMethod } from "./inspect-method.ts";
import { hasManifest, type Method, readParameters } from "./method.ts";
import { findSchema } from "./schemas.ts";

const schemaMethod: Method = (params) => {
  const read = readParameters(params, { legacy: "flag" });
  if (isFailure(read)) return read;
  const { legacy: isLegacy } = read;
  const target = params["target"] ?? "manifest";
  const schema = findSchema(target, isLegacy);
  if (schema === undefined) return invalidArgument(`Unknown schema target: ${String(target)}`);
  const format = isLegacy ? "agentcli-legacy" : "json-schema-draft-2020-12";
  return { ok: true, schema_format: format, schema };
};

const describeMethod: Method = (params) => {
  const target = params["target"] ?? "commands";
  const description = describe(target);
  return description === undefined
    ? invalidArgument(`Unknown description target: ${String(target)}`)
    : { ok: true, description };
};

/** The verdict is the result, good or bad. */
const validateMethod: Method = (params) => {
  if (!Object.hasOwn(params, "manifest")) return invalidArgument("manifest is required");
  const { ok, errors, warnings } = validateManifest(params["manifest"]);
  return { ok, errors, warnings };
};

/** Compiles for a target; "standalone" unless another is named. */
const compileMethod: Method = (params, { defaults }) => {
  if (!Object.hasOwn(params, "manifest")) return invalidArgument("manifest is required");
  const named = readParameters(params, { target: "text" });
  if (isFailure(named)) return named;
  const wanted = named.target ?? defaults.target ?? "standalone";
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

const convertMethod: Method = (params) => {
  if (!hasManifest(params)) return invalidArgument("manifest is required");
  const manifest = convertManifest(params["manifest"]);
  return isFailure(manifest) ? manifest : { ok: true, manifest };
};

const applyMethod: Method = async (params, { world, defaults }) => {
  if (!Object.hasOwn(params, "manifest")) return invalidArgument("manifest is required");
  const flags = readParameters(params, {
    allowProofCommand: "flag",
    dryRun: "flag",
    strict: "flag",
  });
  if (isFailure(flags)) return flags;
  const adoptBy = params["adoptBy"] ?? "id";
  if (adoptBy !== "id" && adoptBy !== "name") {
    return invalidArgument(`Invalid adoptBy value: ${String(adoptBy)}. Accepted values: id, name`);
  }
  const places = readParameters(params, {
    schedulerPrefix: "text",
    schedulerBin: "text",
    dbPath: "text",
  });
  if (isFailure(places)) return places;
  const location = {
    prefix: places.schedulerPrefix ?? defaults.schedulerPrefix,
    bin: places.schedulerBin ?? defaults.schedulerBin,
    dbPath: places.dbPath ?? defaults.dbPath,
  };
  const read = readManifest(params["manifest"]);
  if (isFailure(read)) return read;
  const { allowProofCommand: mayRunCommands, dryRun: isDryRun, strict: isStrict } = flags;
  const isExplained = Boolean(params["explain"]);
  const options = { location, adoptBy, isDryRun, isStrict, isExplained, mayRunCommands } as const;
  return applyManifest(read.manifest, options, world);
};

/** A method; undefined for a name that is none. */
export function findMethod(name: string): Method | undefined {
  return METHODS.get(name);
}

const METHODS: ReadonlyMap<string, Method> = new Map<string, Method>(
  Object.entries({
    "agentcli.ping": () => ({ ok: true, pong: true }),
    "agentcli.version": () => ({
      ok: true,
      package_version: VERSION,
      manifest_version: MANIFEST_VERSION,
    }),
    "agentcli.schema": schemaMethod,
    "agentcli.describe": describeMethod,
    "agentcli.validate": validateMethod,
    "agentcli.compile": compileMethod,
    "agentcli.apply": applyMethod,
    "agentcli.inspect": inspectMethod,
    "agentcli.convert": convertMethod,
    ...PROVIDER_METHODS,
    "agentcli.identity.resolve": resolveMethod,
    "agentcli.identity.validateDelegation": validateDelegationMethod,
    "agentcli.authorization.evaluate": evaluateMethod,
  }),
);

/** Its command has no method in the protocol document. */
export function targetsResult(): Readonly<Record<string, unknown>> {
  return { ok: true, targets: listTargets() };
}
