/** All methods of the protocol by name.   agentcli protocol "Methods" */
import { VERSION } from "../../../base/version.ts";
import { listTargets } from "../compile/target-list.ts";
import { invalidArgument, isFailure } from "../failure.ts";
import { MANIFEST_VERSION } from "../manifest/validate.ts";
import { describe } from "./descriptions.ts";
import {
  evaluateMethod,
  PROVIDER_METHODS,
  resolveMethod,
  validateDelegationMethod,
} from "./governance-methods.ts";
import { inspectMethod } from "./inspect-method.ts";
import { applyMethod, compileMethod, convertMethod, validateMethod } from "./manifest-methods.ts";
import { flagOf, type Method } from "./method.ts";
import { findSchema } from "./schemas.ts";

const schemaMethod: Method = (params) => {
  const isLegacy = flagOf(params, "legacy");
  if (isFailure(isLegacy)) return isLegacy;
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
