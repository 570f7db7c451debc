/**
 * The keys of a token issuer, read from a JSON Web Key Set, and the choice of those that may have
 * signed a token. A key is used only for algorithms that its type and its own `alg` allow;
 * symmetric, private and weak keys are never used.   RFC 7517, RFC 7518 §3, RFC 8037, RFC 8725 §3.1
 */
import { createPublicKey, hash, type KeyObject } from "node:crypto";
import { readBoundedFile } from "../base/bounded-file.ts";
import { isRecord, type JsonRecord, quoteValue } from "../base/json-value.ts";
import type { Problem } from "../base/problem.ts";
import {
  SIGNATURE_ALGORITHMS,
  type SignatureAlgorithm,
  type TokenHeader,
} from "./bearer-syntax.ts";
import { parseBoundedJson } from "./json-document.ts";
import { isOversizedRsa, RSA_BITS } from "./rsa-size.ts";

/** The usable keys of one set. */
export interface KeySet {
  readonly size: number;
  /** Equal for equal key sets, regardless of order and of other members. */
  readonly fingerprint: string;
  has(kid: string): boolean;
  /** The keys that may have signed a token with this header. */
  candidates(header: TokenHeader): readonly KeyObject[];
}

/** A source of keys, with a generation that changes when they are rotated. */
export interface KeySource {
  /** Increases with each rotation. */
  readonly generation: number;
  /** The current keys, fetched again if this kid is missing; undefined if none are available. */
  keysFor(kid: string | undefined): Promise<KeySet | undefined>;
  close(): Promise<void>;
}

/** A key set with the reasons why some of its keys are ignored, or the fault of the whole. */
type ReadKeySet =
  | { readonly set: KeySet; readonly ignored: readonly string[]; readonly fault?: undefined }
  | { readonly set?: undefined; readonly ignored?: undefined; readonly fault: string };

interface IssuerKey {
  readonly kid: string | undefined;
  readonly algorithms: readonly SignatureAlgorithm[];
  readonly key: KeyObject;
}

const MAX_KEYS = 100;
/**
 * The bound on keys tried for a token without a kid: a forged token must not cost a verification
 * per key of the set.
 */
const MAX_CANDIDATES = 8;
const MAX_KID_LENGTH = 1024;
const RSA_MIN_EXPONENT = 3n;

/** Reads a parsed JSON Web Key Set. */
export function readKeySet(document: unknown): ReadKeySet {
  if (!isRecord(document) || !Array.isArray(document["keys"])) {
    return { fault: 'must be a JSON Web Key Set: an object with the array "keys"' };
  }
  const members: readonly unknown[] = document["keys"];
  if (members.length > MAX_KEYS) {
    return { fault: `must have at most ${MAX_KEYS} keys, has ${members.length}` };
  }
  const keys: IssuerKey[] = [];
  const ignored: string[] = [];
  for (const [index, member] of members.entries()) {
    const read = readKey(member);
    if (typeof read !== "string") keys.push(read);
    else if (read !== "") ignored.push(`keys[${index}] ${read}, so it is ignored`);
  }
  return { set: createKeySet(keys), ignored };
}

function createKeySet(keys: readonly IssuerKey[]): KeySet {
  const kids = new Set(keys.map(({ kid }) => kid));
  return {
    size: keys.length,
    fingerprint: hash("sha256", keys.map(describeKey).toSorted().join("\n")),
    has: (kid) => kids.has(kid),
    candidates: ({ alg, kid }) =>
      keys
        .filter((one) => one.algorithms.includes(alg) && (kid === undefined || one.kid === kid))
        .slice(0, MAX_CANDIDATES)
        .map(({ key }) => key),
  };
}

function describeKey({ kid, algorithms, key }: IssuerKey): string {
  const spki = key.export({ type: "spki", format: "der" }).toString("base64");
  return JSON.stringify([kid, algorithms, spki]);
}

/** The key, or the reason it is ignored; the reason is empty if it is not a mistake. */
function readKey(jwk: unknown): IssuerKey | string {
  if (!isRecord(jwk)) return "is no object";
  const { kid, kty, use, key_ops: operations } = jwk;
  if (kty === "oct") return "is symmetric";
  if (Object.hasOwn(jwk, "d")) return "is a private key";
  if (use !== undefined && use !== "sig") return "";
  if (Array.isArray(operations) && !operations.includes("verify")) return "";
  if (kid !== undefined && (typeof kid !== "string" || kid.length > MAX_KID_LENGTH)) {
    return `has a kid that is no text of at most ${MAX_KID_LENGTH} characters`;
  }
  const key = importKey(jwk);
  if (key === undefined) return "is no public key of a known type";
  const algorithms = algorithmsOf(key, jwk["alg"]);
  if (algorithms.length > 0) return { kid, algorithms, key };
  const named = jwk["alg"] === undefined ? "" : ` with alg ${quoteValue(jwk["alg"])}`;
  return `fits no accepted algorithm${named}`;
}

function importKey(jwk: JsonRecord): KeyObject | undefined {
  try {
    return createPublicKey({ key: { ...jwk }, format: "jwk" });
  } catch {
    return undefined;
  }
}

/** The algorithms that a key of this type may verify, narrowed by its published `alg`. */
function algorithmsOf(key: KeyObject, alg: unknown): readonly SignatureAlgorithm[] {
  const possible = possibleAlgorithms(key);
  if (alg === undefined) return possible;
  if (possible.includes("Ed25519") && (alg === "EdDSA" || alg === "Ed25519")) return possible;
  return possible.filter((name) => name === alg);
}

const EC_ALGORITHMS: ReadonlyMap<string | undefined, SignatureAlgorithm> = new Map([
  ["prime256v1", "ES256"],
  ["secp384r1", "ES384"],
  ["secp521r1", "ES512"],
]);

function possibleAlgorithms(key: KeyObject): readonly SignatureAlgorithm[] {
  const { asymmetricKeyType: type } = key;
  if (type === "ed25519") return ["EdDSA", "Ed25519"];
  if (type === "rsa" && isOversizedRsa(key)) return [];
  const { asymmetricKeyDetails: details = {} } = key;
  if (type === "ec") {
    const alg = EC_ALGORITHMS.get(details.namedCurve);
    return alg === undefined ? [] : [alg];
  }
  const { modulusLength = 0, publicExponent = 0n } = details;
  if (type !== "rsa" || modulusLength < RSA_BITS.min || modulusLength > RSA_BITS.max) return [];
  // With an exponent of 1, any value is a valid signature.
  if (publicExponent < RSA_MIN_EXPONENT) return [];
  return SIGNATURE_ALGORITHMS.filter((name) => /^[RP]S/.test(name));
}

const MAX_FILE_BYTES = 1_048_576;

/** Reads the current keys of the file. */
export function readKeyFile(path: string): ReadKeySet {
  const { text, fault } = readBoundedFile(path, MAX_FILE_BYTES);
  if (fault !== undefined) return { fault };
  const parsed = parseBoundedJson(text);
  return parsed.fault === undefined ? readKeySet(parsed.value) : { fault: parsed.fault };
}

/** The fault of a key set file; `place` is the configuration key that names it. */
export function checkKeyFile(
  path: string,
  place: Pick<Problem, "file" | "key">,
): readonly Problem[] {
  const report = (message: string): Problem => ({
    ...place,
    message: `${quoteValue(path)}: ${message}`,
  });
  const read = readKeyFile(path);
  if (read.fault !== undefined) return [report(read.fault)];
  const problems = read.ignored.map(
    (message): Problem => ({ ...report(message), severity: "warning" }),
  );
  if (read.set.size > 0) return problems;
  return [...problems, report("must hold a public key of an accepted signature algorithm")];
}
