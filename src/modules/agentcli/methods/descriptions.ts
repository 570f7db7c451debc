/**
 * The answers of describe: in a sentence or two, what things are and what can be asked.   agentcli
 * protocol "agentcli.describe"
 */
import type { JsonRecord } from "../../../base/json-value.ts";
import { listTargets } from "../compile/targets.ts";
import { MANIFEST_VERSION } from "../manifest/validate.ts";

/** The first line of every session. */
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
  ["authorization-proof", "List the verifiers of authorization proofs."],
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

/** By target; undefined for any other name. */
export function describe(target: unknown): object | undefined {
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
    methods: METHOD_SUMMARIES.map(([method, summary]) => ({ method, summary })),
    notifications: [
      {
        method: "agentcli.ready",
        summary: "The server is ready; sent once, before anything is read.",
        params: READY_PARAMS,
      },
    ],
  };
}

/** Names and summaries. */
export const METHOD_SUMMARIES: readonly (readonly [method: string, summary: string])[] = [
  ["agentcli.ping", "Whether the server answers."],
  ["agentcli.version", "The versions of the program and of the manifest."],
  ["agentcli.schema", "A schema by target."],
  ["agentcli.describe", "Descriptive metadata by target."],
  ["agentcli.validate", "The verdict on a manifest."],
  ["agentcli.compile", "A manifest compiled to a target."],
  ["agentcli.apply", "Creates, updates or adopts the jobs of a scheduler."],
  ["agentcli.inspect", "Rows of a scheduler's database."],
  ["agentcli.convert", "A manifest of version 0.1 as one of version 0.2."],
  ["agentcli.identity.providers", "The identity providers and what they can do."],
  ["agentcli.identity.schema", "What one identity provider can do."],
  ["agentcli.identity.resolve", "The identity that a task acts under."],
  ["agentcli.identity.validateDelegation", "The verdict on a task's chain of delegation."],
  ["agentcli.authorizationProof.methods", "The verifiers of authorization proofs."],
  ["agentcli.authorizationProof.schema", "What one verifier is."],
  ["agentcli.authorization.providers", "The authorization providers and what they can do."],
  ["agentcli.authorization.schema", "What one authorization provider can do."],
  ["agentcli.authorization.evaluate", "Whether a task may run."],
  ["agentcli.evidence.providers", "The evidence providers and what they can give."],
  ["agentcli.evidence.schema", "What one evidence provider can give."],
];
