/**
 * Doubts about a response that is not what it claims: an Audit-ID that is not its
 * record's, a manifest whose signature is absent or does not verify. None of it makes the response
 * unusable.   AGTP-API §8.8, AGTP-IDENTIFIERS "Attribution-Record"
 */
import { createHash } from "node:crypto";
import { isRecord } from "../../base/json-value.ts";
import type { ClientResponse } from "../../client/agtp-client.ts";
import { verifyManifest } from "../../identity/manifest-signature.ts";

const MANIFEST_TYPE = "application/vnd.agtp.manifest+json";

/** One sentence for each doubt. */
export function doubtsAbout(response: ClientResponse): readonly string[] {
  return [...auditDoubts(response), ...manifestDoubts(response)];
}

function auditDoubts({ headers }: ClientResponse): readonly string[] {
  const record = headers.get("attribution-record");
  const auditId = headers.get("audit-id");
  if (record === undefined || auditId === undefined) return [];
  const derived = createHash("sha256").update(record, "latin1").digest("hex");
  return derived === auditId ? [] : ["the Audit-ID is not that of the Attribution-Record"];
}

function manifestDoubts({ status, headers, body }: ClientResponse): readonly string[] {
  const type = headers.get("content-type") ?? "";
  if (status !== 200 || !type.startsWith(MANIFEST_TYPE) || !isRecord(body)) return [];
  const verdict = verifyManifest(body);
  switch (verdict.kind) {
    case "unsigned":
      return ["the manifest is not signed"];
    case "invalid":
      return [`the manifest's signature ${verdict.fault}`];
    case "verified":
    case "intact":
      return [];
  }
}
