/**
 * The response that a manifest was served with: its media type, and how long it may be kept.
 * AGTP-API §8.10, §8.11
 */

import { quoteValue } from "../../base/json-value.ts";
import type { ClientResponse } from "../../client/agtp-client.ts";
import type { ReportFinding } from "./findings.ts";

const MANIFEST_TYPE = "application/vnd.agtp.manifest+json";

/** Checks the header fields of the response that a manifest came in. */
export function checkResponse({ headers }: ClientResponse, report: ReportFinding): void {
  const type = headers.get("content-type");
  const [essence = ""] = (type ?? "").toLowerCase().split(";");
  if (essence.trim() !== MANIFEST_TYPE) {
    const message = `the Content-Type is ${quoteValue(type ?? "")}, expected ${MANIFEST_TYPE}`;
    report({ severity: "error", key: "", rule: "8.10", message });
  }
  for (const name of ["Cache-Control", "ETag"]) {
    if (headers.get(name.toLowerCase()) !== undefined) continue;
    const message = `the response has no ${name}`;
    report({ severity: "warning", key: "", rule: "8.11", message });
  }
}
