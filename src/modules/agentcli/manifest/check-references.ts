/** References to profiles that the manifest does not have.   agentcli spec "Profiles" */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import type { Findings } from "./finding.ts";

/** Block that refers, and the list it refers to. */
const REFERENCES: readonly (readonly [block: string, profiles: string])[] = [
  ["identity", "identity_profiles"],
  ["authorization_proof", "authorization_proof_profiles"],
  ["authorization", "authorization_profiles"],
  ["evidence", "evidence_profiles"],
];

/** Looks up every reference of workflows, tasks and handlers of failures. */
export function checkReferences(findings: Findings, manifest: JsonRecord): void {
  const known = new Map(REFERENCES.map(([block, key]) => [block, idsOf(manifest[key])]));
  const check = (path: string, value: JsonRecord): void => {
    for (const [block, ids] of known) {
      const reference = value[block];
      const ref = isRecord(reference) ? reference["ref"] : undefined;
      if (typeof ref !== "string" || ref === "" || ids.has(ref)) continue;
      findings.error(`${path}.${block}.ref`, `references unknown ${block} profile "${ref}"`);
    }
  };
  for (const [path, workflow] of records("$.workflows", manifest["workflows"])) {
    check(path, workflow);
    for (const [place, task] of records(`${path}.tasks`, workflow["tasks"])) {
      check(place, task);
      if (isRecord(task["on_failure"])) check(`${place}.on_failure`, task["on_failure"]);
    }
  }
}

function idsOf(profiles: unknown): ReadonlySet<unknown> {
  return new Set(records("", profiles).map(([, profile]) => profile["id"]));
}

/** The objects of a list with their paths; what is none has been reported. */
export function records(path: string, value: unknown): readonly (readonly [string, JsonRecord])[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item, index) => (isRecord(item) ? [[`${path}[${index}]`, item]] : []));
}
