/**
 * Signs records: JWS compact serialization with Ed25519, or `alg: none` where the operator named no
 * key. Every response waits for it, hence a header that is encoded once.
 * AGTP-IDENTIFIERS "Attribution-Record", RFC 7515 §7.1, RFC 8037
 */
import type { KeyObject } from "node:crypto";
import { type Ed25519PublicKey, publicKeyOf } from "../../identity/ed25519.ts";
import { createEd25519Signer } from "../../identity/ed25519-signer.ts";
import { keyId } from "../../identity/jws.ts";

/** Makes a compact JWS of a payload. */
export interface RecordSigner {
  /** Undefined: what it makes is unsigned. */
  readonly publicKey: Ed25519PublicKey | undefined;
  /** Payloads are JSON texts. */
  sign(payload: string): string;
}

/** A signer with an Ed25519 private key; without one the third segment stays empty. */
export function createRecordSigner(key?: KeyObject): RecordSigner {
  if (key === undefined) {
    const opening = `${encode('{"alg":"none","typ":"JWT"}')}.`;
    return { publicKey: undefined, sign: (payload) => `${opening}${encode(payload)}.` };
  }
  const publicKey = publicKeyOf(key);
  if (publicKey === undefined) throw new TypeError("records are signed with Ed25519 keys only");
  const header = { alg: "EdDSA", kid: keyId(publicKey), typ: "JWT" };
  const opening = `${encode(JSON.stringify(header))}.`;
  const sign = createEd25519Signer(key);
  return {
    publicKey,
    sign: (payload) => {
      const input = opening + encode(payload);
      return `${input}.${sign(octetsOf(input)).toString("base64url")}`;
    },
  };
}

/** The octets of the text that is encoded now: a buffer for each would take longer than encoding it. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024);
/** The most octets of UTF-8 that one unit of a text becomes. */
const OCTETS_OF_UNIT = 3;

function encode(text: string): string {
  if (text.length * OCTETS_OF_UNIT > scratch.length) return Buffer.from(text).toString("base64url");
  return scratch.toString("base64url", 0, scratch.write(text, 0));
}

/** Of an ASCII text; they hold until something else is encoded. */
function octetsOf(text: string): Uint8Array {
  if (text.length > scratch.length) return Buffer.from(text, "latin1");
  return scratch.subarray(0, scratch.write(text, 0, "latin1"));
}
