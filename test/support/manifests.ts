/** Manifests as a server signs them. */
import { type KeyObject, sign } from "node:crypto";
import type { JsonRecord } from "../../src/base/json-value.ts";
import { canonicalForm } from "../../src/identity/canonical-form.ts";
import { compactHeader } from "../../src/identity/jws.ts";

/** The `manifest_signature` of a manifest. */
export function signManifest(manifest: JsonRecord, key: KeyObject): string {
  const payload = canonicalForm(manifest, ["manifest_signature"]).toString("base64url");
  const input = `${compactHeader(key)}.${payload}`;
  return `${input}.${sign(null, Buffer.from(input), key).toString("base64url")}`;
}
