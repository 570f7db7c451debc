/**
 * The methods of the protocol by name, and the descriptions that `describe` returns. agentcli protocol "Methods",
 * "agentcli.describe"
 */

import type { JsonRecord } from "../../../base/json-value.ts";
import { VERSION } from "../../../base/version.ts";
import { findTarget, listTargets } from "../compile/targets.ts";
import { invalidArgument, isFailure } from "../failure.ts";
import { AUTHORIZATION_PROVIDERS } from "../governance/authorization.ts";
import { EVIDENCE_PROVIDERS } from "../governance/evidence.ts";
import { PROOF_VERIFIERS } from "../governance/proof.ts";
import { IDENTITY_PROVIDERS } from "../identity/providers.ts";
import { convertManifest } from "../manifest/convert.ts";
import { MANIFEST_VERSION, readManifest, validateManifest } from "../manifest/validate.ts";
import { applyManifest } from "../scheduler/apply.ts";
import {
  evaluateMethod,
  registryMethods,
  resolveMethod,
  validateDelegationMethod,
  verifyProofMethod,
} from "./governance-methods.ts";
import { inspectMethod } from "./inspect-method.ts";
import { hasManifest, type Method, type NamedMethod, readParameters } from "./method.ts";
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

/** Returns the verdict as a result, even if invalid. */
const validateMethod: Method = (params) => {
  if (!Object.hasOwn(params, "manifest")) return invalidArgument("manifest is required");
  const { ok, errors, warnings } = validateManifest(params["manifest"]);
  return { ok, errors, warnings };
};

/** Compiles for a target, by default "standalone". */
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
  // Any truthy value counts, for compatibility.
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

/** Finds a method; undefined for an unknown name. */
export function findMethod(name: string): Method | undefined {
  return METHODS.get(name)?.method;
}

/** The methods by name, in description order. */
const METHODS: ReadonlyMap<string, NamedMethod> = new Map(
  Object.entries<NamedMethod>({
    "agentcli.ping": {
      summary: "Whether the server answers.",
      method: () => ({ ok: true, pong: true }),
    },
    "agentcli.version": {
      summary: "The versions of the program and of the manifest.",
      method: () => ({ ok: true, package_version: VERSION, manifest_version: MANIFEST_VERSION }),
    },
    "agentcli.schema": { summary: "A schema by target.", method: schemaMethod },
    "agentcli.describe": { summary: "Descriptive metadata by target.", method: describeMethod },
    "agentcli.targets": {
      summary: "The targets that a manifest compiles to, with their features.",
      method: () => ({ ok: true, targets: listTargets() }),
    },
    "agentcli.validate": { summary: "The verdict on a manifest.", method: validateMethod },
    "agentcli.compile": { summary: "A manifest compiled to a target.", method: compileMethod },
    "agentcli.apply": {
      summary: "Creates, updates or adopts the jobs of a scheduler.",
      method: applyMethod,
    },
    "agentcli.inspect": { summary: "Rows of a scheduler's database.", method: inspectMethod },
    "agentcli.convert": {
      summary: "A manifest of version 0.1 as one of version 0.2.",
      method: convertMethod,
    },
    ...registryMethods({
      ...{ prefix: "agentcli.identity", kind: "provider", noun: "identity provider" },
      registered: IDENTITY_PROVIDERS,
    }),
    "agentcli.identity.resolve": {
      summary: "The identity that a task acts under.",
      method: resolveMethod,
    },
    "agentcli.identity.validateDelegation": {
      summary: "The verdict on a task's chain of delegation.",
      method: validateDelegationMethod,
    },
    ...registryMethods({
      ...{ prefix: "agentcli.authorizationProof", kind: "method", noun: "verifier method" },
      registered: PROOF_VERIFIERS,
      tell: ({ capabilities }, verifier) => ({ verifier, capabilities }),
    }),
    "agentcli.authorizationProof.verify": {
      summary: "The verdict on the proof that stands behind a task.",
      method: verifyProofMethod,
    },
    ...registryMethods({
      ...{ prefix: "agentcli.authorization", kind: "provider", noun: "authorization provider" },
      registered: AUTHORIZATION_PROVIDERS,
    }),
    "agentcli.authorization.evaluate": {
      summary: "Whether a task may run.",
      method: evaluateMethod,
    },
    ...registryMethods({
      ...{ prefix: "agentcli.evidence", kind: "provider", noun: "evidence provider" },
      registered: EVIDENCE_PROVIDERS,
      tell: ({ methods }) => ({ methods }),
    }),
  }),
);

/** The parameters of a session's first line. */
export const READY_PARAMS: JsonRecord = { ok: true, manifest_version: MANIFEST_VERSION };

const COMMANDS: readonly (readonly [command: string, summary: string])[] = [
  ["version", "Show the versions of the program and of the manifest."],
  ["schema", "Print a schema of manifests, tasks, compiled artifacts or protocol messages."],
  ["describe", "Explain commands, targets, parts of a manifest and protocol methods."],
  ["targets", "List the targets that a manifest compiles to, with their features."],
  ["validate", "Validate a manifest from a file, standard input or the command line."],
  ["compile", "Compile a manifest to a target."],
  ["apply", "Create, update or adopt the jobs of a scheduler, or show what would be done."],
  ["inspect", "Read jobs, runs, queue or approvals of a scheduler's database."],
  ["convert", "Convert a manifest of version 0.1 to version 0.2."],
  ["identity", "List providers, resolve a task's identity, check its delegation."],
  ["authorization-proof", "List the verifiers of authorization proofs, or verify a task's proof."],
  ["authorization", "List providers, or ask whether a task may run."],
  ["evidence", "List the providers of evidence."],
  ["serve", "Serve line-delimited JSON-RPC on standard input and output; also without a command."],
];

const PARTS: ReadonlyMap<unknown, object> = new Map([
  [
    "manifest",
    {
      name: "manifest",
      summary: "The document that workflows are written in, portable across targets.",
      notes: [
        "Hand it over as a file, as JSON on the command line, or on standard input.",
        "Each task has exactly one of schedule and trigger.",
        `Version ${MANIFEST_VERSION} adds profiles of identity, proof, authorization and evidence, and refuses unknown keys.`,
      ],
    },
  ],
  [
    "workflow",
    {
      name: "workflow",
      summary: "A named collection of tasks; their ids and triggers hold within it.",
    },
  ],
  [
    "task",
    {
      name: "task",
      summary: "A unit of work: its target says how it runs, its schedule or trigger says when.",
      notes: [
        "A shell task is a program with arguments, never a line for a shell.",
        "Conditions of triggers begin with contains: or regex:.",
        "An approval policy states who has to say yes; how that is asked is the target's affair.",
        "Model policy, intent, output hints and budgets bind a task to no one runtime.",
      ],
    },
  ],
]);

/** Describes a target; undefined for an unknown name. */
function describe(target: unknown): object | undefined {
  switch (target) {
    case "targets":
      return { name: "targets", summary: "What a manifest compiles to.", items: listTargets() };
    case "commands":
      return {
        name: "commands",
        summary: "Commands of the program.",
        items: COMMANDS.map(([command, summary]) => ({ command, summary })),
      };
    case "rpc":
      return describeProtocol();
    default:
      return PARTS.get(target);
  }
}

function describeProtocol(): object {
  return {
    name: "rpc",
    summary: "JSON-RPC 2.0 methods, one message a line on standard input and output.",
    methods: [...METHODS].map(([method, { summary }]) => ({ method, summary })),
    notifications: [
      {
        method: "agentcli.ready",
        summary: "The server is ready; sent once, before anything is read.",
        params: READY_PARAMS,
      },
    ],
  };
}
