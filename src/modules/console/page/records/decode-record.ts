/** An Attribution-Record taken apart: a compact JWS of a JSON object. docs/attribution.md */
import { fromBase64url } from "./bytes.ts";

type Members = Readonly<Record<string, unknown>>;

/** A record whose signature was not looked at yet. */
export interface DecodedRecord {
  readonly header: Members;
  readonly payload: Members;
  /** So many octets from the beginning on are signed. */
  readonly inputLength: number;
  readonly signature: Uint8Array<ArrayBuffer>;
}

const DECODER = new TextDecoder("utf-8", { fatal: true });
const COMPACT = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]*)$/;

/** The parts of a record; undefined for anything else. */
export function decodeRecord(jws: string): DecodedRecord | undefined {
  const [, head = "", body = "", end = ""] = COMPACT.exec(jws) ?? [];
  const header = decodeObject(head);
  const payload = decodeObject(body);
  const signature = fromBase64url(end);
  if (header === undefined || payload === undefined || signature === undefined) return undefined;
  return { header, payload, inputLength: head.length + 1 + body.length, signature };
}

/** What a record says, and nothing of who signed it; undefined for anything else. */
export function payloadOf(jws: string): Members | undefined {
  const [, , body = ""] = COMPACT.exec(jws) ?? [];
  return decodeObject(body);
}

function decodeObject(text: string): Members | undefined {
  const octets = fromBase64url(text);
  if (octets === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(DECODER.decode(octets));
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Members) : undefined;
  } catch {
    return undefined;
  }
}
