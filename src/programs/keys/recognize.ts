/** Recognises files by their content: names can be anything, and so can contents. */

import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import { parseBoundedJson } from "../../identity/json-document.ts";
import { isKeyText } from "./check-key.ts";

/** A file by what it holds. */
export type RecognizedFile =
  | { readonly kind: "certificate" | "key" | "records" | "genesis" | "document" }
  | { readonly kind: "manifest"; readonly manifest: JsonRecord }
  | { readonly kind: "unknown"; readonly fault: string };

const RECORD = /^(?:jws:)?[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*\s*(?:\n|$)/;

/** Looks at a text. What is no JSON may be a secret, so nothing of it is repeated. */
export function recognize(text: string): RecognizedFile {
  if (text.includes("-----BEGIN CERTIFICATE-----")) return { kind: "certificate" };
  if (isKeyText(text)) return { kind: "key" };
  if (RECORD.test(text)) return { kind: "records" };
  if (!/^\s*[[{]/.test(text)) {
    return {
      kind: "unknown",
      fault: "is neither a certificate or a key in PEM, nor a compact JWS, nor JSON",
    };
  }
  const parsed = parseBoundedJson(text);
  if (parsed.fault !== undefined) return { kind: "unknown", fault: parsed.fault };
  const { value } = parsed;
  if (!isRecord(value)) return { kind: "unknown", fault: "is JSON, but no object" };
  if ("agtp_api_version" in value || "embedded_methods" in value) {
    return { kind: "manifest", manifest: value };
  }
  if ("issuer_public_key" in value || "agtp_genesis_version" in value) return { kind: "genesis" };
  if ("agent_id" in value && ("agtp_version" in value || "document_type" in value)) {
    return { kind: "document" };
  }
  return { kind: "unknown", fault: "is no Genesis, identity document or manifest" };
}
