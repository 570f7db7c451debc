/**
 * Verification keys: a PEM public key in the manifest, or a key set at an https address. Proofs and tokens name them in
 * the same two ways.   RFC 7517, RFC 7468, RFC 9111 §5.2.2.1
 */
import { createPublicKey, type KeyObject } from "node:crypto";
import type { JWTVerifyGetKey } from "jose";
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { type LateLoad, loadLate } from "../../../base/late-load.ts";
import { reasonOf } from "../../../base/thrown.ts";
import { parseUrl } from "../../../base/url-text.ts";
import { type AnsweredKeys, KeyCache } from "../../../identity/key-cache.ts";
import type { ProfileFault } from "../manifest/finding.ts";
import type { AskJson, KeySet, World } from "../world.ts";

export const SIGNATURE_ALGORITHMS = ["RS256", "ES256"] as const;

/** Returns the named key in the form that `jwtVerify` takes, or the fault. */
export async function findKey(
  { public_key: pem, jwks_uri: uri }: JsonRecord,
  keySets: World["keySets"],
): Promise<{ readonly key: JWTVerifyGetKey } | string> {
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

/** Checks the two members that name a key; `place` prefixes their names. */
export function checkKeySource(
  { jwks_uri: uri, public_key: key }: JsonRecord,
  place = "",
): readonly ProfileFault[] {
  const hasUri = typeof uri === "string" && uri !== "";
  const hasKey = typeof key === "string" && key !== "";
  const field = `${place}public_key`;
  const faults: ProfileFault[] = hasKey ? [...checkPublicKey(key, field)] : [];
  if (hasUri && !isHttps(uri)) faults.unshift([`${place}jwks_uri`, "must use HTTPS"]);
  if (hasUri !== hasKey) return faults;
  return [[field, "exactly one of public_key and jwks_uri is required"], ...faults];
}

/** Checks a public key in PEM. */
export function checkPublicKey(pem: string, field: string): readonly ProfileFault[] {
  if (/PRIVATE KEY/.test(pem)) return [[field, "must not be a private key"]];
  return readPublicPem(pem) === undefined ? [[field, "must be a PEM public key"]] : [];
}

/** Reads a public key in PEM; undefined if invalid. */
export function readPublicPem(pem: string): KeyObject | undefined {
  try {
    const key = createPublicKey(pem);
    return key.type === "public" ? key : undefined;
  } catch {
    return undefined;
  }
}

function isHttps(text: string): boolean {
  return parseUrl(text)?.protocol === "https:";
}

/** Loads the library once. */
export const loadJose: LateLoad<typeof import("jose")> = loadLate(() => import("jose"));

const USUAL_MS = 300_000;
/** The maximum cache time, so that a revoked key expires. */
const LONGEST_MS = 3_600_000;
/** The minimum interval between requests, however many proofs name unknown keys. */
const PAUSE_MS = 10_000;
const MAX_SETS = 64;

export class KeySets {
  readonly #ask: AskJson;
  readonly #now: () => number;
  /** By URL, oldest first. */
  readonly #caches = new Map<string, KeyCache<JWTVerifyGetKey>>();

  /** `now` must be monotonic: a clock set back must not extend a key's cache time. */
  constructor(ask: AskJson, now: () => number = () => performance.now()) {
    this.#ask = ask;
    this.#now = now;
  }

  async find(url: string): Promise<KeySet> {
    const cache = this.#cacheOf(url);
    if (cache.fresh !== undefined)
      return { kind: "keys", keys: await renewing(cache, cache.fresh) };
    const answer = await cache.obtain();
    if (answer.fault === undefined) return { kind: "keys", keys: answer.keys };
    if (this.#caches.get(url) === cache) this.#caches.delete(url);
    return { kind: "fault", message: `the key set ${answer.fault}` };
  }

  #cacheOf(url: string): KeyCache<JWTVerifyGetKey> {
    const known = this.#caches.get(url);
    if (known !== undefined) return known;
    const cache = new KeyCache<JWTVerifyGetKey>({
      ask: () => askFor(url, this.#ask),
      now: this.#now,
      staleMs: 0,
      pauseAfter: () => PAUSE_MS,
    });
    const [oldest] = this.#caches.keys();
    if (this.#caches.size >= MAX_SETS && oldest !== undefined) this.#caches.delete(oldest);
    this.#caches.set(url, cache);
    return cache;
  }
}

async function askFor(url: string, ask: AskJson): Promise<AnsweredKeys<JWTVerifyGetKey>> {
  const answer = await ask(url);
  if (answer.kind === "fault") return { fault: answer.message };
  const { value, maxAgeSeconds } = answer;
  const keys = isRecord(value) ? value["keys"] : undefined;
  if (!Array.isArray(keys) || !keys.every(isRecord)) return { fault: "is none" };
  const { createLocalJWKSet } = await loadJose();
  const usableMs = maxAgeSeconds === undefined ? USUAL_MS : maxAgeSeconds * 1000;
  const lookUp: JWTVerifyGetKey = createLocalJWKSet({ keys });
  return { keys: lookUp, lifetimeMs: Math.min(usableMs, LONGEST_MS) };
}

/** Wraps a key set so that an unknown key causes one renewal. */
async function renewing(
  cache: KeyCache<JWTVerifyGetKey>,
  keys: JWTVerifyGetKey,
): Promise<JWTVerifyGetKey> {
  const { errors } = await loadJose();
  return async (header, token) => {
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const answer = await cache.renew(() => true);
      if (answer === undefined || answer.fault !== undefined) throw error;
      return answer.keys(header, token);
    }
  };
}
