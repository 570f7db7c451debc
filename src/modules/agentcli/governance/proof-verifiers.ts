/**
 * The verifiers of authorization proofs that this program has: none, which proves nothing, JWT, and a
 * signature that stands apart from what it is over.
 * agentcli execution identity "Authorization proof"
 */

import type { JWTPayload, JWTVerifyOptions } from "jose";
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { reasonOf } from "../../../base/thrown.ts";
import type { EffectiveProof } from "../compile/merge-governance.ts";
import type { ProfileFault } from "../manifest/profile-fault.ts";
import type { World } from "../world.ts";
import { checkDetachedProfile, verifyDetachedProof } from "./detached-proof.ts";
import { checkKeySource, findKey, loadJose, SIGNATURE_ALGORITHMS } from "./key-source.ts";

/** The verdict on a proof; keys are the protocol's. */
export interface ProofVerdict {
  readonly method: string;
  readonly verified: boolean;
  readonly reason: string | null;
}

/** Judges proofs of one method. */
interface ProofVerifier {
  readonly capabilities: JsonRecord;
  /** The settings that the profile lacks; nothing is read. */
  check(profile: JsonRecord): readonly ProfileFault[];
  verify(
    value: string | undefined,
    proof: EffectiveProof,
    context: ProofContext,
  ): Promise<ProofVerdict>;
}

const none: ProofVerifier = {
  capabilities: { key_sources: [], algorithms: [], manifest_binding: false },
  check: ({ verify }) =>
    isRecord(verify) && verify["required"] === true
      ? [["verify.required", 'method "none" cannot satisfy verify.required: true']]
      : [],
  verify: () =>
    Promise.resolve({ method: "none", verified: false, reason: "the method verifies nothing" }),
};

const jwt: ProofVerifier = {
  capabilities: {
    key_sources: ["public_key", "jwks_uri"],
    algorithms: ["RS256", "ES256"],
    manifest_binding: true,
  },
  check: checkJwtProfile,
  verify: async (value, proof, context) => {
    if (value === undefined) return { method: "jwt", verified: false, reason: "there is no proof" };
    const reason = await verifyJwt(value, proof, context);
    return { method: "jwt", verified: reason === undefined, reason: reason ?? null };
  },
};

const detachedSignature: ProofVerifier = {
  capabilities: {
    key_sources: ["public_key", "allowed_signers"],
    algorithms: ["Ed25519", "ES256", "RS256", "ssh-ed25519"],
    manifest_binding: true,
  },
  check: (profile) => [...checkSource(profile), ...checkDetachedProfile(profile)],
  verify: (value, proof, { world, manifestDigest }) => {
    const method = "detached-signature";
    if (value === undefined) {
      return Promise.resolve({ method, verified: false, reason: "there is no proof" });
    }
    const reason = verifyDetachedProof(value, proof, { digest: manifestDigest, world });
    return Promise.resolve({ method, verified: reason === undefined, reason: reason ?? null });
  },
};

/** By method, in the order in which they are listed. */
export const PROOF_VERIFIERS: ReadonlyMap<string, ProofVerifier> = new Map([
  ["none", none],
  ["jwt", jwt],
  ["detached-signature", detachedSignature],
]);

function checkJwtProfile(profile: JsonRecord): readonly ProfileFault[] {
  return [...checkSource(profile), ...checkKeySource(profile)];
}

/** None at all is reported by the field itself where the block is there. */
function checkSource({ proof }: JsonRecord): readonly ProfileFault[] {
  const source = isRecord(proof) ? proof["value_from"] : undefined;
  const named = isRecord(source)
    ? ["env", "file", "command"].filter((one) => (source[one] ?? null) !== null)
    : [];
  const isOne = isRecord(source) && named.length <= 1;
  return isOne ? [] : [["proof.value_from", "must name exactly one source"]];
}

/** Names that a profile may use for registered claims. */
const CLAIM_NAMES: ReadonlyMap<string, string> = new Map([
  ["subject", "sub"],
  ["audience", "aud"],
  ["issuer", "iss"],
]);

/** Why the proof does not hold; undefined when it does. */
async function verifyJwt(
  token: string,
  proof: EffectiveProof,
  { world, manifestDigest }: ProofContext,
): Promise<string | undefined> {
  const { jwtVerify } = await loadJose();
  const options: JWTVerifyOptions = {
    algorithms: [...SIGNATURE_ALGORITHMS],
    ...(proof.issuer === null ? {} : { issuer: proof.issuer }),
    ...(proof.audience === null ? {} : { audience: proof.audience }),
  };
  const found = await findKey(proof, world.keySets);
  if (typeof found === "string") return found;
  try {
    const { payload } = await jwtVerify(token, found.key, options);
    return checkClaims(payload, proof, manifestDigest);
  } catch (error) {
    return reasonOf(error);
  }
}

function checkClaims(
  payload: JWTPayload,
  { claims }: EffectiveProof,
  digest: string,
): string | undefined {
  for (const [name, wanted] of Object.entries(claims ?? {})) {
    const claim = CLAIM_NAMES.get(name) ?? name;
    const found = Object.hasOwn(payload, claim) ? payload[claim] : undefined;
    if (!holds(found, wanted)) return `claim "${claim}" is not what the manifest declares`;
  }
  const bound = payload["manifest_digest"];
  if (bound === digest || `sha256:${String(bound)}` === digest) return undefined;
  return 'claim "manifest_digest" is not the digest of this manifest';
}

/** A list in the token holds when it contains what is wanted. */
function holds(found: unknown, wanted: unknown): boolean {
  const isEqual = (one: unknown): boolean => JSON.stringify(one) === JSON.stringify(wanted);
  return isEqual(found) || (Array.isArray(found) && found.some(isEqual));
}

/** The rules that a proof is judged by. */
interface ProofContext {
  readonly world: Pick<World, "keySets" | "directory">;
  /** `sha256:…` of the manifest that the proof must be bound to. */
  readonly manifestDigest: string;
}
