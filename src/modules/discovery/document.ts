/**
 * The manifest as bytes. Its `document_version` is derived from its content without the dates, unless the operator
 * sets one. Its signature is a compact JWS that carries the canonical form, so the document contains what is signed.
 * Megabytes are encoded in steps and signed on a thread.   AGTP-API §8.2, §8.8, §8.11, RFC 7515 §7.1
 */
import { type KeyObject, sign } from "node:crypto";
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { shareHashed } from "../../base/kept-text.ts";
import {
  copying,
  hashing,
  inSlices,
  lengthOf,
  type Pieces,
  PieceWriter,
} from "../../base/octet-pieces.ts";
import type { Drive, Paced } from "../../base/paced.ts";
import { canonicalText } from "../../identity/canonical-form.ts";
import { compactHeader } from "../../identity/jws.ts";

/** An encoded manifest. */
export interface ManifestDocument {
  readonly bytes: Uint8Array;
  /** With its quotes, as in the header field. */
  readonly etag: string;
  readonly documentVersion: string;
}

export interface ManifestDates {
  /** RFC 3339. */
  readonly issued: string;
  readonly updated: string;
}

/** A manifest without the members that describe the document itself. */
export interface ManifestContent {
  readonly [member: string]: unknown;
  readonly server: Readonly<Record<string, unknown>>;
}

export interface ManifestEncoding {
  /** Undefined for a server without a signing key; `manifest_signature` is then null.   AGTP-API §8.8 */
  readonly key: KeyObject | undefined;
  readonly drive: Drive;
}

const CLOSING = Buffer.from("}");

/** SHA-256 over the canonical form of the content, in hex. */
export function* hashingContent(content: ManifestContent): Paced<string> {
  return yield* hashing([...layOut(content, "canonical"), CLOSING]);
}

/** The `document_version` of content with this hash. */
export function documentVersionOf(hash: string): string {
  return `v-${hash.slice(0, 12)}`;
}

/** Encodes one variant of the manifest. */
export async function encodeManifest(
  content: ManifestContent,
  dates: ManifestDates,
  documentVersion: string,
  { key, drive }: ManifestEncoding,
): Promise<ManifestDocument> {
  const { agtp_version, agtp_api_version, server, ...rest } = content;
  const manifest = {
    agtp_version,
    agtp_api_version,
    document_version: documentVersion,
    ...rest,
    server: { ...server, ...dates },
  };
  const draft = await drive(
    key === undefined ? draftingUnsigned(manifest) : draftingSigned(manifest, key),
  );
  const bytes = await draft.finish();
  const sha256 = await drive(hashing([bytes]));
  shareHashed(bytes, sha256);
  return { bytes, etag: `"${sha256.slice(0, 32)}"`, documentVersion };
}

/** An encoded manifest, complete except for its signature. */
interface Draft {
  finish(): Promise<Buffer>;
}

type Members = Readonly<Record<string, unknown>>;

const SIGNATURE = ',"manifest_signature":';
/** The length of 64 octets in base64url. */
const SIGNATURE_LENGTH = 86;

/** Encodes an unsigned manifest. */
function* draftingUnsigned(manifest: Members): Paced<Draft> {
  const pieces = [...layOut(manifest, "plain"), Buffer.from(`${SIGNATURE}null}`)];
  const bytes = Buffer.allocUnsafeSlow(lengthOf(pieces));
  yield* copying(pieces, bytes, 0);
  return { finish: () => Promise.resolve(bytes) };
}

/** Encodes a manifest that `finish` signs. */
function* draftingSigned(manifest: Members, key: KeyObject): Paced<Draft> {
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

/** The length of base64url without padding. */
function base64Length(length: number): number {
  return Math.ceil((length * 4) / 3);
}

/** Octets per step: a multiple of three, and few, so that the text is short-lived. */
const ENCODED_AT_ONCE = 12 * 1024;

/** Encodes pieces as base64url; octets beyond a multiple of three go with the next piece. */
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

/** The shortest input, in octets, that is worth a thread. */
const LONG = 1024 * 1024;

const PROGRAM = `
const { parentPort, workerData: { key, input } } = require("node:worker_threads");
parentPort.postMessage(require("node:crypto").sign(null, input, key));
`;

/** The signature in base64url. A long input is transferred to the thread, so nobody else may use it. */
async function signElsewhere(key: KeyObject, input: Buffer): Promise<string> {
  if (input.length < LONG) return sign(null, input, key).toString("base64url");
  const worker = new Worker(PROGRAM, {
    eval: true,
    execArgv: [],
    workerData: { key, input },
    transferList: [input.buffer as ArrayBuffer],
  });
  const [signature] = (await once(worker, "message")) as [Uint8Array];
  return Buffer.from(signature).toString("base64url");
}

/** The form of an encoded document: as sent, or as hashed and signed. */
type Form = "plain" | "canonical";

/** Items in both forms, without the enclosing brackets. */
export type EncodedItems = Readonly<Record<Form, Pieces>>;

/** A long list member of a document, in several encoded parts. */
export class LongList {
  readonly parts: readonly EncodedItems[];

  constructor(...parts: readonly EncodedItems[]) {
    this.parts = parts.filter(({ plain }) => plain.length > 0);
  }
}

/** Encodes the shown form of items, one item a step. */
export function* encodingItems<T>(
  items: Iterable<T>,
  show: (item: T) => object,
): Paced<EncodedItems> {
  const plain = new PieceWriter();
  const canonical = new PieceWriter();
  let before = "";
  for (const item of items) {
    const shown = show(item);
    plain.add(before + JSON.stringify(shown));
    canonical.add(before + canonicalText(shown));
    before = ",";
    yield;
  }
  return { plain: plain.end(), canonical: canonical.end() };
}

/** Encodes a document in pieces, without its closing brace. */
function layOut(document: Readonly<Record<string, unknown>>, form: Form): Pieces {
  const names = Object.keys(document);
  if (form === "canonical") names.sort();
  const pieces: Uint8Array[] = [];
  let before = "{";
  for (const name of names) {
    const value = document[name];
    if (value === undefined) continue;
    pieces.push(Buffer.from(`${before}${JSON.stringify(name)}:`));
    if (value instanceof LongList) pieces.push(...bracketed(value, form));
    else pieces.push(Buffer.from(form === "plain" ? JSON.stringify(value) : canonicalText(value)));
    before = ",";
  }
  return pieces;
}

function bracketed({ parts }: LongList, form: Form): Pieces {
  const pieces: Uint8Array[] = [Buffer.from("[")];
  for (const [index, part] of parts.entries()) {
    if (index > 0) pieces.push(Buffer.from(","));
    pieces.push(...part[form]);
  }
  return [...pieces, Buffer.from("]")];
}
