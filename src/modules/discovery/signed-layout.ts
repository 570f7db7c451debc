/**
 * Where everything in an encoded manifest goes. The compact JWS of its signature carries the whole
 * canonical form, so what is signed is written to its place at once, and signed there on a thread of
 * its own, with the 86 characters that come of it left open until then.   AGTP-API §8.8, RFC 7515 §7.1
 */
import type { KeyObject } from "node:crypto";
import { copying, lengthOf, type Pieces } from "../../base/octet-pieces.ts";
import type { Paced } from "../../base/paced.ts";
import { compactHeader, signInput } from "../../identity/jws.ts";
import { layOut } from "./long-list.ts";

/** An encoded manifest that lacks its signature at most. */
export interface Draft {
  finish(): Promise<Buffer>;
}

type Members = Readonly<Record<string, unknown>>;

const SIGNATURE = ',"manifest_signature":';
/** Of 64 octets in base64url. */
const SIGNATURE_LENGTH = 86;
const CLOSING = Buffer.from("}");

/** A manifest that nobody signs. */
export function* draftingUnsigned(manifest: Members): Paced<Draft> {
  const pieces = [...layOut(manifest, "plain"), Buffer.from(`${SIGNATURE}null}`)];
  const bytes = Buffer.allocUnsafeSlow(lengthOf(pieces));
  yield* copying(pieces, bytes, 0);
  return { finish: () => Promise.resolve(bytes) };
}

/** One that is signed when it is finished. */
export function* draftingSigned(manifest: Members, key: KeyObject): Paced<Draft> {
  const payload = [...layOut(manifest, "canonical"), CLOSING];
  const plain = [...layOut(manifest, "plain"), Buffer.from(`${SIGNATURE}"`)];
  const header = Buffer.from(`${compactHeader(key)}.`);
  const inputAt = lengthOf(plain);
  const inputEnd = inputAt + header.length + base64Length(lengthOf(payload));
  const bytes = Buffer.allocUnsafeSlow(inputEnd + 1 + SIGNATURE_LENGTH + '"}'.length);
  const payloadAt = yield* copying([...plain, header], bytes, 0);
  yield* writingBase64(payload, bytes, payloadAt);
  const finish = async (): Promise<Buffer> => {
    const signature = await signInput(key, bytes.subarray(inputAt, inputEnd));
    bytes.write(`.${signature}"}`, inputEnd, "latin1");
    return bytes;
  };
  return { finish };
}

/** Without padding. */
function base64Length(length: number): number {
  return Math.ceil((length * 4) / 3);
}

/** Three octets are four characters: what is left of a piece goes with the next. */
function* writingBase64(pieces: Pieces, target: Buffer, start: number): Paced<void> {
  let at = start;
  let rest: Uint8Array = Buffer.alloc(0);
  for (const piece of pieces) {
    const whole = Buffer.concat([rest, piece]);
    const usable = whole.length - (whole.length % 3);
    at += target.write(whole.toString("base64url", 0, usable), at, "latin1");
    rest = whole.subarray(usable);
    yield;
  }
  target.write(Buffer.from(rest).toString("base64url"), at, "latin1");
}
