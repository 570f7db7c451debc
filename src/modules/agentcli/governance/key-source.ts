/**
 * The key that somebody's signature is verified with: a PEM public key in the manifest, or a key set
 * at an https address. Both proofs and tokens name it in the same two ways.   RFC 7517, RFC 7468
 */
import { createPublicKey, type KeyObject } from "node:crypto";
import type { JWTVerifyGetKey } from "jose";
import type { JsonRecord } from "../../../base/json-value.ts";
import { type LateLoad, loadLate } from "../../../base/late-load.ts";
import { reasonOf } from "../../../base/thrown.ts";
import type { ProfileFault } from "../manifest/profile-fault.ts";
import type { World } from "../world.ts";

/** The algorithms that JWTs may be signed with. */
export const SIGNATURE_ALGORITHMS = ["RS256", "ES256"] as const;

/** A key as `jwtVerify` and its kind take it. */
interface FoundKey {
  readonly key: JWTVerifyGetKey;
}

/** The key that is named, or in words why there is none. */
export async function findKey(
  { public_key: pem, jwks_uri: uri }: JsonRecord,
  keySets: World["keySets"],
): Promise<FoundKey | string> {
  if (typeof pem !== "string") {
    const found = await keySets.find(typeof uri === "string" ? uri : "");
    return found.kind === "fault" ? found.message : { key: found.keys };
  }
  try {
    const key = createPublicKey(pem);
    return { key: (() => Promise.resolve(key)) as unknown as JWTVerifyGetKey };
  } catch (error) {
    return reasonOf(error);
  }
}

/** The fault of the two members that name a key; `place` stands in front of their names. */
export function checkKeySource(
  { jwks_uri: uri, public_key: key }: JsonRecord,
  place = "",
): readonly ProfileFault[] {
  const hasUri = typeof uri === "string" && uri !== "";
  const hasKey = typeof key === "string" && key !== "";
  return [
    ...(hasUri === hasKey
      ? ([[`${place}public_key`, "exactly one of public_key and jwks_uri is required"]] as const)
      : []),
    ...(hasUri && !isHttps(uri) ? ([[`${place}jwks_uri`, "must use HTTPS"]] as const) : []),
    ...(hasKey ? checkPublicKey(key, `${place}public_key`) : []),
  ];
}

/** The fault of a public key in PEM. */
export function checkPublicKey(pem: string, field: string): readonly ProfileFault[] {
  if (/PRIVATE KEY/.test(pem)) return [[field, "must not be a private key"]];
  return readPublicPem(pem) === undefined ? [[field, "must be a PEM public key"]] : [];
}

/** A public key in PEM; undefined when it is none. */
export function readPublicPem(pem: string): KeyObject | undefined {
  try {
    const key = createPublicKey(pem);
    return key.type === "public" ? key : undefined;
  } catch {
    return undefined;
  }
}

function isHttps(text: string): boolean {
  return URL.canParse(text) && new URL(text).protocol === "https:";
}

/** Loads it once. */
export const loadJose: LateLoad<typeof import("jose")> = loadLate(() => import("jose"));
