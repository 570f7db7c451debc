/**
 * A response kept for repeated requests under the same Idempotency-Key: the handler's answer, without the fields
 * that are stamped on each response. AGTP-API §10.1.5
 */
import { isRecord, isTexts } from "../../base/json-value.ts";

/** The kept part of a response, as a JSON value. */
export interface KeptResponse {
  readonly status: number;
  /** The `error.code` of a refusal. */
  readonly code?: string;
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body as text or base64; neither if it was empty. */
  readonly text?: string;
  readonly base64?: string;
  /** The agent that the response concerned. */
  readonly addressed?: string;
  /** The scopes that its parts required, beyond those of its endpoint. */
  readonly partScopes?: readonly string[];
}

/** The approximate stored size besides header fields and body. */
const FRAME_BYTES = 64;

/** Returns the approximate stored size in octets. */
export function weighResponse(response: KeptResponse): number {
  const { headers = {}, text = "", base64 = "", partScopes = [] } = response;
  let bytes = FRAME_BYTES + Buffer.byteLength(text) + base64.length + partScopes.join().length;
  for (const [name, value] of Object.entries(headers)) bytes += name.length + value.length;
  return bytes;
}

/** Reads a stored response; undefined if it is not one. */
export function readKeptResponse(value: unknown): KeptResponse | undefined {
  if (!isRecord(value)) return undefined;
  const { status, contentType, code, headers, text, base64, addressed, partScopes } = value;
  if (typeof status !== "number" || typeof contentType !== "string") return undefined;
  const texts = [code, text, base64, addressed];
  if (!texts.every((one) => one === undefined || typeof one === "string")) return undefined;
  if (headers !== undefined && !isFields(headers)) return undefined;
  if (partScopes !== undefined && !isTexts(partScopes)) return undefined;
  return value as unknown as KeptResponse;
}

function isFields(headers: unknown): boolean {
  return isRecord(headers) && isTexts(Object.values(headers));
}
