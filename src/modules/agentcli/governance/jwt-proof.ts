/**
 * A JWT that says that a manifest was authorized: signed by the profile's key, valid now, and bound to
 * this manifest by its digest. Claims without a signature prove nothing, whatever they say.
 * RFC 7519, agentcli execution identity "jwt"
 */
import type { JWTPayload, JWTVerifyOptions } from "jose";
import { reasonOf } from "../../../base/thrown.ts";
import type { EffectiveProof } from "../compile/merge-governance.ts";
import { findKey, SIGNATURE_ALGORITHMS } from "./key-source.ts";
import { loadJose } from "./load-jose.ts";
import type { ProofContext } from "./proof-context.ts";

/** Names that a profile may use for registered claims. */
const CLAIM_NAMES: ReadonlyMap<string, string> = new Map([
  ["subject", "sub"],
  ["audience", "aud"],
  ["issuer", "iss"],
]);

/** Why the proof does not hold; undefined when it does. */
export async function verifyJwt(
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
