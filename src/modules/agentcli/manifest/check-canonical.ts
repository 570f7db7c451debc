/**
 * Finds what has no canonical form. A manifest, and each of its tasks, is known by the digest of that: proofs
 * are bound to it and approvals hold for it.   agentcli spec "Canonical digest", RFC 8785 §3.2.2
 */
import { hasLoneSurrogate } from "../../../base/json-value.ts";
import type { Findings } from "./finding.ts";

/** Reports each such place below a value, which is bounded in depth. */
export function checkCanonical(findings: Findings, path: string, value: unknown): void {
  if (typeof value === "string") {
    if (hasLoneSurrogate(value)) findings.error(path, HALF);
  } else if (typeof value === "number") {
    if (!Number.isFinite(value)) findings.error(path, "must be within double precision");
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      checkCanonical(findings, `${path}[${index}]`, item);
    }
  } else if (typeof value === "object" && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      const place = `${path}.${name}`;
      if (hasLoneSurrogate(name)) findings.error(place, HALF);
      checkCanonical(findings, place, member);
    }
  }
}

const HALF = "contains half of a surrogate pair";
