/** An issuer of bearer tokens, good ones and such as an attacker would make. */
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import { type KeySet, type KeySource, readKeySet } from "../../src/identity/bearer-keys.ts";

/** The issuer and the moment that tests agree on. */
export const ISSUER = "https://id.example";
export const NOW: number = Date.UTC(2030, 0, 1);
const NOW_S = NOW / 1000;

/** A key pair, and the public half as the issuer publishes it. */
export interface IssuerKey {
  readonly alg: string;
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

/** Makes a key; `jwk` has kid, alg and use. */
export async function makeIssuerKey(alg = "EdDSA", kid = "key-1"): Promise<IssuerKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { alg, kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } };
}

/** Claims of a token that is good at `NOW`. */
export function goodClaims(
  claims: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  return { iss: ISSUER, sub: "ada", iat: NOW_S, exp: NOW_S + 600, ...claims };
}

/** A token that the key signed; what is undefined in claims or header is left out. */
export function signToken(
  key: IssuerKey,
  claims: Readonly<Record<string, unknown>> = goodClaims(),
  header: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: "JWT", ...header })
    .sign(key.privateKey);
}

/** A part of a token: the JSON of a value, or a text as it is. */
export function encodePart(value: unknown): string {
  return Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString(
    "base64url",
  );
}

/** A key source that holds what a test puts into it. */
interface TestKeys extends KeySource {
  readonly asked: readonly (string | undefined)[];
  /** Undefined: none can be had. */
  rotate(jwks: readonly JWK[] | undefined): void;
  /** Holds the next askers until it is called. */
  hold(): () => void;
}

export function createKeys(jwks: readonly JWK[]): TestKeys {
  const asked: (string | undefined)[] = [];
  let generation = 0;
  let set: KeySet | undefined = keySetOf(jwks);
  let gate: Promise<void> = Promise.resolve();
  return {
    asked,
    get generation() {
      return generation;
    },
    rotate(next) {
      generation += 1;
      set = next && keySetOf(next);
    },
    hold() {
      let release = (): void => undefined;
      gate = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
    async keysFor(kid) {
      asked.push(kid);
      await gate;
      return set;
    },
    close: () => Promise.resolve(),
  };
}

/** The usable keys of a set that is one. */
export function keySetOf(jwks: readonly JWK[]): KeySet {
  const read = readKeySet({ keys: jwks });
  if (read.fault !== undefined) throw new Error(read.fault);
  return read.set;
}
