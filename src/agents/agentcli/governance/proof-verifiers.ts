/**
 * The verifiers of authorization proofs that this program has: none, which proves nothing, and JWT.
 * agentcli execution identity "Authorization proof"
 */
import { createPublicKey } from "node:crypto";
import { isRecord, type JsonRecord } from "../../../json-value.ts";
import type { EffectiveProof } from "../compile/merge-governance.ts";
import type { ProfileFault } from "../manifest/profile-fault.ts";
import { verifyJwt } from "./jwt-proof.ts";
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
  /** What the profile lacks; nothing is read. */
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

/** By method, in the order in which they are listed. */
export const PROOF_VERIFIERS: ReadonlyMap<string, ProofVerifier> = new Map([
  ["none", none],
  ["jwt", jwt],
]);

function checkJwtProfile(profile: JsonRecord): readonly ProfileFault[] {
  const faults: ProfileFault[] = [];
  const { proof, jwks_uri: uri, public_key: key } = profile;
  const source = isRecord(proof) ? proof["value_from"] : undefined;
  const named = isRecord(source)
    ? ["env", "file", "command"].filter((one) => (source[one] ?? null) !== null)
    : [];
  // None at all is reported by the field itself where the block is there.
  if (named.length > 1 || !isRecord(source)) {
    faults.push(["proof.value_from", "must name exactly one source"]);
  }
  const hasUri = typeof uri === "string" && uri !== "";
  const hasKey = typeof key === "string" && key !== "";
  if (hasUri === hasKey) {
    faults.push(["public_key", "exactly one of public_key and jwks_uri is required"]);
  }
  if (hasUri && !isHttps(uri)) faults.push(["jwks_uri", "must use HTTPS"]);
  if (hasKey && /PRIVATE KEY/.test(key)) {
    faults.push(["public_key", "must not be a private key"]);
  } else if (hasKey && !isPublicKey(key)) {
    faults.push(["public_key", "must be a PEM public key"]);
  }
  return faults;
}

function isHttps(text: string): boolean {
  return URL.canParse(text) && new URL(text).protocol === "https:";
}

function isPublicKey(pem: string): boolean {
  try {
    return createPublicKey(pem).type === "public";
  } catch {
    return false;
  }
}
