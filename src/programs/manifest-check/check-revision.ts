/**
 * A manifest beside an earlier one of the same server: what must stay, and what must move when the
 * rest does.   AGTP-API §8.2, §8.3, §8.11
 */

import type { DocumentPlace } from "../../base/document-place.ts";
import { isRecord, type JsonRecord, quoteValue } from "../../base/json-value.ts";
import { canonicalForm } from "../../identity/canonical-form.ts";

/** Compares a manifest with an earlier revision of it. */
export function checkRevision(
  manifest: DocumentPlace,
  value: JsonRecord,
  earlier: JsonRecord,
): void {
  const [now, before] = [serverOf(value), serverOf(earlier)];
  const server = manifest.at("server").under("8.3");
  for (const name of ["server_id", "issued"]) {
    if (now[name] === before[name]) continue;
    const message = `was ${quoteValue(before[name])}, expected it to stay through revisions`;
    server.at(name).fail(message);
  }
  const version = manifest.at("document_version").under("8.2");
  const isSameVersion = value["document_version"] === earlier["document_version"];
  const isSameContent = contentOf(value).equals(contentOf(earlier));
  if (isSameVersion && !isSameContent) version.fail("is unchanged, although the content is not");
  if (!isSameVersion && isSameContent) version.warn("changed, although the content did not");
  const [updated, was] = [
    Date.parse(String(now["updated"])),
    Date.parse(String(before["updated"])),
  ];
  if (updated < was)
    server.at("updated").fail(`is before the earlier ${quoteValue(before["updated"])}`);
  else if (!isSameContent && updated === was) {
    server.at("updated").fail("is unchanged, although the content is not");
  }
}

function serverOf(manifest: JsonRecord): JsonRecord {
  return isRecord(manifest["server"]) ? manifest["server"] : {};
}

/** Everything but what describes the document itself; empty where there is no canonical form. */
function contentOf(manifest: JsonRecord): Buffer {
  const { updated: _updated, ...server } = serverOf(manifest);
  try {
    return canonicalForm({ ...manifest, server }, ["document_version", "manifest_signature"]);
  } catch {
    return Buffer.alloc(0);
  }
}
