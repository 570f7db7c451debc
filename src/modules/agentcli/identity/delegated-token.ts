/**
 * The chain of delegation in a token: its `act` is who holds it, each `act` in that who held it before,
 * and its `sub` for whom all of them act. Only a signature that verifies says any of it.
 * RFC 8693 §4.1, RFC 7519
 */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { reasonOf } from "../../../base/thrown.ts";
import { findKey, loadJose, SIGNATURE_ALGORITHMS } from "../governance/key-source.ts";
import type { World } from "../world.ts";
import type { Hop } from "./session.ts";

/** Nobody delegates this often; a token that says so is a hostile one. */
const MAX_HOPS = 32;

/** The hops, the holder first; or in words why the token has none. */
export async function readChain(
  token: string,
  settings: JsonRecord,
  keySets: World["keySets"],
): Promise<readonly Hop[] | string> {
  const found = await findKey(settings, keySets);
  if (typeof found === "string") return `cannot be verified: ${found}`;
  const { compactVerify } = await loadJose();
  let claims: unknown;
  try {
    const options = { algorithms: [...SIGNATURE_ALGORITHMS] };
    const { payload } = await compactVerify(token, found.key, options);
    claims = JSON.parse(Buffer.from(payload).toString("utf8"));
  } catch (error) {
    return `does not verify: ${reasonOf(error)}`;
  }
  return isRecord(claims) ? hopsOf(claims) : "has no claims";
}

function hopsOf(claims: JsonRecord): readonly Hop[] | string {
  const { sub, exp, act } = claims;
  const hops: Hop[] = [];
  for (let actor = act; actor !== undefined; actor = isRecord(actor) ? actor["act"] : undefined) {
    if (!isRecord(actor) || typeof actor["sub"] !== "string")
      return "has an actor without a subject";
    if (hops.length >= MAX_HOPS) return `has more than ${MAX_HOPS} actors`;
    // A claim about an actor itself is narrower than one about the whole token.
    hops.push(hopOf(actor["sub"], actor, "delegated", actor["exp"] ?? exp));
  }
  if (typeof sub !== "string") return "has no subject";
  return [...hops, hopOf(sub, claims, hops.length === 0 ? "holder" : "origin", exp)];
}

function hopOf(principal: string, { jti }: JsonRecord, kind: string, exp: unknown): Hop {
  const isTime = typeof exp === "number" && Math.abs(exp) < 8_640_000_000_000;
  return {
    kind,
    principal,
    grant: typeof jti === "string" && jti !== "" ? jti : "bearer-token",
    validated: true,
    expires_at: isTime ? new Date(exp * 1000).toISOString() : null,
  };
}
