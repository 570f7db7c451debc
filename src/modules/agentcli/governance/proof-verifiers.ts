/**
 * The verifiers of authorization proofs that this program has: none, which proves nothing, JWT, and a
 * signature that stands apart from what it is over.
 * agentcli execution identity "Authorization proof"
 */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import type { EffectiveProof } from "../compile/merge-governance.ts";
import type { ProfileFault } from "../manifest/profile-fault.ts";
import { checkDetachedProfile, verifyDetachedProof } from "./detached-proof.ts";
import { verifyJwt } from "./jwt-proof.ts";
import { checkKeySource } from "./key-source.ts";
import type { ProofContext } from "./proof-context.ts";

/** The verdict on a proof; keys are the protocol's. */
export interface ProofVerdict {
  readonly method: string;
  readonly verified: boolean;
  readonly reason: string | null;
}

/** Judges proofs of one method. */
export interface ProofVerifier {
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
