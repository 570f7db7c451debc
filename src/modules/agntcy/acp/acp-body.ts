/**
 * Reads the body of an answer as JSON of bounded depth, without the credentials that its server was
 * shown. What is wrong with it is said in words that callers may read.
 */
import { type JsonDocument, parseBoundedJson } from "../../../identity/json-document.ts";
import type { CredentialShield } from "./credential-shield.ts";

/** The value of a body, undefined for an empty one; or what is wrong with it. */
export function parseBody(
  bytes: Buffer,
  shield: CredentialShield,
): JsonDocument | { readonly value: undefined; readonly fault?: undefined } {
  if (bytes.length === 0) return { value: undefined };
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return { fault: "is not UTF-8 text" };
  }
  const shielded = shield(text);
  const parsed = parseBoundedJson(shielded);
  // The parser quotes what it stumbled over, which is nothing for callers.
  return parsed.fault === undefined || isJson(shielded) ? parsed : { fault: "is not JSON" };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
