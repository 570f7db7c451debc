/**
 * Evidence that a task was executed as described: none, or an envelope whose canonical form OpenSSH signs in its own
 * namespace.   agentcli execution identity "Evidence"
 */

import { hash } from "node:crypto";
import { resolve } from "node:path";
import { type JsonRecord, recordIn } from "../../../base/json-value.ts";
import { canonicalForm } from "../../../identity/canonical-form.ts";
import type { EffectiveEvidence } from "../compile/merge.ts";
import { type Failure, failure } from "../failure.ts";
import type { ProfileFault } from "../manifest/finding.ts";
import type { World } from "../world.ts";

interface EvidenceProvider {
  readonly methods: readonly string[];
  readonly capabilities: JsonRecord;
  /** The supported keys of `provider_config`. */
  readonly settings: readonly string[];
  /** Reports missing or invalid settings without reading files. */
  check(profile: JsonRecord): readonly ProfileFault[];
}

const SSH_METHODS = ["ssh-signature"];

/** Providers by name, in listing order. */
export const EVIDENCE_PROVIDERS: ReadonlyMap<string, EvidenceProvider> = new Map(
  Object.entries<EvidenceProvider>({
    none: {
      methods: [],
      capabilities: { methods: [], payload_formats: [] },
      settings: [],
      check: ({ verify }) =>
        recordIn(verify)["required"] === true
          ? [["verify.required", 'provider "none" cannot satisfy verify.required: true']]
          : [],
    },
    ssh: {
      methods: SSH_METHODS,
      capabilities: { methods: SSH_METHODS, payload_formats: ["canonical-json"] },
      settings: ["signing_key", "key_path"],
      check: ({ methods }) => {
        const wanted = Array.isArray(methods) ? methods : [];
        const unknown = wanted.findIndex((method) => !SSH_METHODS.includes(String(method)));
        return unknown === -1
          ? []
          : [[`methods[${unknown}]`, `must be one of: ${SSH_METHODS.join(", ")}`]];
      },
    },
  }),
);

const NAMESPACE = "agentcli";
const TIMEOUT_MS = 10_000;
const USUAL_TARGETS = [
  "execution_id",
  "declared_identity",
  "resolved_identity",
  "command",
  "result",
];
const CONTEXT = ["model_version", "policy_version", "tool_versions", "data_provenance"];

/** Signs the facts that the profile binds; undefined if the provider gives no evidence. */
export async function giveEvidence(
  evidence: EffectiveEvidence,
  facts: JsonRecord,
  principal: string,
  world: World,
): Promise<{ readonly envelope: JsonRecord } | Failure | undefined> {
  if (evidence.provider !== "ssh") return undefined;
  const { signing_key, key_path } = evidence.provider_config ?? {};
  const named = signing_key ?? key_path ?? world.env["AGENTCLI_SIGNING_KEY"];
  if (typeof named !== "string" || named === "") {
    return failure("evidence_failed", "no signing key: set provider_config.signing_key");
  }
  const key = resolve(world.directory, named);
  const payload = bindFacts(evidence, facts);
  const octets = canonicalForm(payload);
  const fingerprint = await run(world, ["-l", "-f", key], "");
  const signature = await run(world, ["-Y", "sign", "-n", NAMESPACE, "-f", key], octets.toString());
  if (typeof fingerprint !== "string") return fingerprint;
  if (typeof signature !== "string") return signature;
  const envelope = {
    schema: "agentcli.evidence.envelope",
    version: 1,
    method: "ssh-signature",
    key_fingerprint: fingerprint.split(" ")[1] ?? null,
    principal,
    namespace: NAMESPACE,
    payload_format: "canonical-json",
    payload_digest: `sha256:${hash("sha256", octets)}`,
    signed_payload: octets.toString(),
    signature,
  };
  return { envelope };
}

/** Unknown values are null rather than omitted. */
function bindFacts({ payload }: EffectiveEvidence, facts: JsonRecord): JsonRecord {
  const wanted = payload.bind ?? USUAL_TARGETS;
  const bound = wanted.map((name) => [String(name), facts[String(name)] ?? null] as const);
  const asked = CONTEXT.filter((name) => payload.context?.[name] === true);
  const context = asked.map((name) => [name, null] as const);
  return {
    ...Object.fromEntries(bound),
    ...(asked.length === 0 ? {} : { context: Object.fromEntries(context) }),
  };
}

async function run(
  world: World,
  args: readonly string[],
  input: string,
): Promise<string | Failure> {
  const end = await world.runProgram({
    program: "ssh-keygen",
    args,
    env: world.env,
    directory: world.directory,
    timeoutMs: TIMEOUT_MS,
    input,
  });
  if (end.kind === "fault") return failure("evidence_failed", `ssh-keygen: ${end.message}`);
  if (end.code === 0) return end.stdout.trim();
  return failure("evidence_failed", "ssh-keygen could not sign with the key");
}
