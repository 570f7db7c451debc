/**
 * Verifies a task's authorization proof by method: none, which proves nothing, JWT, or a detached signature. An
 * optional proof is judged and reported; a required one that is invalid stops the task.   agentcli execution identity
 * "Authorization proof"
 */

import { resolve } from "node:path";
import type { JWTPayload, JWTVerifyOptions } from "jose";
import { readBoundedFile } from "../../../base/bounded-file.ts";
import { isRecord, type JsonRecord, memberOf, recordIn } from "../../../base/json-value.ts";
import { reasonOf } from "../../../base/thrown.ts";
import { canonicalDigest } from "../../../identity/canonical-form.ts";
import { applyProofProfile, type EffectiveProof } from "../compile/merge.ts";
import { type Failure, failure } from "../failure.ts";
import type { FoundTask } from "../identity/find-task.ts";
import type { ProfileFault } from "../manifest/finding.ts";
import type { ValueSource } from "../manifest/manifest.ts";
import type { World } from "../world.ts";
import { checkDetachedProfile, verifyDetachedProof } from "./detached-proof.ts";
import { checkKeySource, findKey, loadJose, SIGNATURE_ALGORITHMS } from "./keys.ts";

/** The verdict on a proof, with its profile; keys are the protocol's. */
export interface ProofReport {
  readonly kind: "proof";
  readonly ref: string;
  readonly required: boolean;
  readonly method: string;
  readonly verified: boolean;
  readonly reason: string | null;
}

/** Undefined if the task references no proof. */
export async function verifyProof(
  { manifest, plan }: Pick<FoundTask, "manifest" | "plan">,
  world: World,
  mayRunCommands = false,
): Promise<ProofReport | Failure | undefined> {
  if (plan.authorization_proof === null) return undefined;
  const proof = applyProofProfile(manifest, plan.authorization_proof);
  const { ref, verify } = proof;
  const method = proof.method ?? "none";
  const verifier = PROOF_VERIFIERS.get(method);
  if (verifier === undefined) {
    return failure("unknown_verifier", `Unknown verifier method: ${method}`);
  }
  const required = verify.required === true;
  const given = await readSource(proof.proof?.value_from ?? {}, world, mayRunCommands);
  if (required && given.kind === "absent") {
    const message = `Authorization proof not available for profile "${ref}": ${given.message}`;
    return failure("authorization_proof_failed", message);
  }
  const value = given.kind === "value" ? given.value : undefined;
  const digest = canonicalDigest(manifest as unknown as JsonRecord);
  const reason = (await verifier.verify(value, proof, { world, digest })) ?? null;
  if (required && reason !== null) {
    const message = `Authorization proof verification failed for profile "${ref}": ${reason}`;
    return failure("authorization_proof_failed", message);
  }
  return { kind: "proof", ref, required, method, verified: reason === null, reason };
}

/** The context in which a proof is judged. */
interface ProofContext {
  readonly world: Pick<World, "keySets" | "directory">;
  /** The manifest's `sha256:…`, which the proof must be bound to. */
  readonly digest: string;
}

/** The reason that a proof is invalid; undefined if it is valid. */
type Reason = string | undefined;

interface ProofVerifier {
  readonly capabilities: JsonRecord;
  /** Reports missing or invalid settings without reading files. */
  check(profile: JsonRecord): readonly ProfileFault[];
  verify(
    value: string | undefined,
    proof: EffectiveProof,
    context: ProofContext,
  ): Reason | Promise<Reason>;
}

const NO_PROOF = "there is no proof";

/** Verifiers by method, in listing order. */
export const PROOF_VERIFIERS: ReadonlyMap<string, ProofVerifier> = new Map(
  Object.entries<ProofVerifier>({
    none: {
      capabilities: { key_sources: [], algorithms: [], manifest_binding: false },
      check: ({ verify }) =>
        recordIn(verify)["required"] === true
          ? [["verify.required", 'method "none" cannot satisfy verify.required: true']]
          : [],
      verify: () => "the method verifies nothing",
    },
    jwt: {
      capabilities: {
        key_sources: ["public_key", "jwks_uri"],
        algorithms: SIGNATURE_ALGORITHMS,
        manifest_binding: true,
      },
      check: (profile) => [...checkSource(profile), ...checkKeySource(profile)],
      verify: (value, ...rest) => (value === undefined ? NO_PROOF : verifyJwt(value, ...rest)),
    },
    "detached-signature": {
      capabilities: {
        key_sources: ["public_key", "allowed_signers"],
        algorithms: ["Ed25519", "ES256", "RS256", "ssh-ed25519"],
        manifest_binding: true,
      },
      check: (profile) => [...checkSource(profile), ...checkDetachedProfile(profile)],
      verify: (value, ...rest) =>
        value === undefined ? NO_PROOF : verifyDetachedProof(value, ...rest),
    },
  }),
);

/** Checks that one source is named. An empty source object is reported by its own field. */
function checkSource({ proof }: JsonRecord): readonly ProfileFault[] {
  const source = recordIn(proof)["value_from"];
  const named = ["env", "file", "command"].filter(
    (one) => (recordIn(source)[one] ?? null) !== null,
  );
  const isOne = isRecord(source) && named.length <= 1;
  return isOne ? [] : [["proof.value_from", "must name exactly one source"]];
}

/** Alternative names of registered claims in profiles. */
const CLAIM_NAMES: ReadonlyMap<string, string> = new Map([
  ["subject", "sub"],
  ["audience", "aud"],
  ["issuer", "iss"],
]);

async function verifyJwt(
  token: string,
  proof: EffectiveProof,
  { world, digest }: ProofContext,
): Promise<Reason> {
  const { jwtVerify } = await loadJose();
  const options: JWTVerifyOptions = {
    algorithms: [...SIGNATURE_ALGORITHMS],
    ...(proof.issuer === null ? {} : { issuer: proof.issuer }),
    ...(proof.audience === null ? {} : { audience: proof.audience }),
  };
  const found = await findKey({ ...proof }, world.keySets);
  if (typeof found === "string") return found;
  try {
    const { payload } = await jwtVerify(token, found.key, options);
    return checkClaims(payload, proof, digest);
  } catch (error) {
    return reasonOf(error);
  }
}

function checkClaims(payload: JWTPayload, { claims }: EffectiveProof, digest: string): Reason {
  for (const [name, wanted] of Object.entries(claims ?? {})) {
    const claim = CLAIM_NAMES.get(name) ?? name;
    const found = memberOf(payload, claim);
    if (!holds(found, wanted)) return `claim "${claim}" is not what the manifest declares`;
  }
  const bound = payload["manifest_digest"];
  if (bound === digest || `sha256:${String(bound)}` === digest) return undefined;
  return 'claim "manifest_digest" is not the digest of this manifest';
}

/** A claim that is a list matches if it contains the wanted value. */
function holds(found: unknown, wanted: unknown): boolean {
  const isEqual = (one: unknown): boolean => JSON.stringify(one) === JSON.stringify(wanted);
  return isEqual(found) || (Array.isArray(found) && found.some(isEqual));
}

const MAX_BYTES = 1_048_576;
const COMMAND_TIMEOUT_MS = 30_000;

type SourcedValue =
  | { readonly kind: "value"; readonly value: string }
  | { readonly kind: "absent"; readonly message: string };

/** Reads the first source that is set. */
async function readSource(
  source: ValueSource,
  world: World,
  mayRunCommands: boolean,
): Promise<SourcedValue> {
  const { env: name, file, command } = source;
  if (name !== undefined && name !== null) {
    const value = world.env[name];
    return present(value, `environment variable "${name}" is not set or is empty`);
  }
  if (file !== undefined && file !== null) {
    const { text, fault } = readBoundedFile(resolve(world.directory, file), MAX_BYTES);
    return present(text?.trim(), `file "${file}" ${fault ?? "is empty"}`);
  }
  if (command === undefined || command === null) return absent("no source is named");
  if (!mayRunCommands) return absent("its command is not run here");
  const end = await world.runProgram({
    program: "sh",
    args: ["-c", command],
    env: world.env,
    directory: world.directory,
    timeoutMs: COMMAND_TIMEOUT_MS,
  });
  if (end.kind === "fault") return absent(`its command ${end.message}`);
  if (end.code !== 0) return absent(`its command ended with exit code ${end.code}`);
  return present(end.stdout.trim(), "its command put out nothing");
}

function present(value: string | undefined, message: string): SourcedValue {
  return value === undefined || value === "" ? absent(message) : { kind: "value", value };
}

function absent(message: string): SourcedValue {
  return { kind: "absent", message };
}
