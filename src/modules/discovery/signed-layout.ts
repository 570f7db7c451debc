/**
 * The layout of an encoded manifest. The compact JWS of its signature carries the whole canonical
 * form, so what is signed is in the document too. It is signed on a thread of its own, and the 86
 * characters that come of it are left open until then.   AGTP-API §8.8, RFC 7515 §7.1
 */
import type { KeyObject } from "node:crypto";
import { copying, inSlices, lengthOf, type Pieces } from "../../base/octet-pieces.ts";
import type { Paced } from "../../base/paced.ts";
import { compactHeader } from "../../identity/jws.ts";
import { signElsewhere } from "../../identity/sign-elsewhere.ts";
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
  const input = Buffer.allocUnsafeSlow(header.length + base64Length(lengthOf(payload)));
  yield* writingBase64(payload, input, yield* copying([header], input, 0));
  const inputAt = lengthOf(plain);
  const inputEnd = inputAt + input.length;
  const bytes = Buffer.allocUnsafeSlow(inputEnd + 1 + SIGNATURE_LENGTH + '"}'.length);
  yield* copying(plain, bytes, 0);
  yield* copying(inSlices(input), bytes, inputAt);
  const finish = async (): Promise<Buffer> => {
    bytes.write(`.${await signElsewhere(key, input)}"}`, inputEnd, "latin1");
    return bytes;
  };
  return { finish };
}

/** Without padding. */
function base64Length(length: number): number {
  return Math.ceil((length * 4) / 3);
}

/** So little at a time that its text dies young, and three octets are four characters. */
const ENCODED_AT_ONCE = 12 * 1024;

/** The rest of a piece goes with the next. */
function* writingBase64(pieces: Pieces, target: Buffer, start: number): Paced<void> {
  const scratch = Buffer.allocUnsafe(ENCODED_AT_ONCE + 2);
  let at = start;
  let kept = 0;
  for (const piece of pieces) {
    for (let from = 0; from < piece.length; from += ENCODED_AT_ONCE) {
      const part = piece.subarray(from, from + ENCODED_AT_ONCE);
      scratch.set(part, kept);
      const length = kept + part.length;
      const usable = length - (length % 3);
      at += target.write(scratch.toString("base64url", 0, usable), at, "latin1");
      scratch.copyWithin(0, usable, length);
      kept = length - usable;
      yield;
    }
  }
  target.write(scratch.toString("base64url", 0, kept), at, "latin1");
}
