/**
 * Holds the trust that a contract asks for against the autonomy that its identity may ever have;
 * a task of which that is not true could never run.   agentcli spec "Trust"
 */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { records } from "./check-references.ts";
import type { Findings } from "./finding.ts";
import { compareTrust, TRUST_LEVELS, type TrustLevel } from "./identity-fields.ts";

/** Checks every task and every handler of failures. */
export function checkAutonomy(findings: Findings, manifest: JsonRecord): void {
  const profiles = new Map(
    records("", manifest["identity_profiles"]).map(([, profile]) => [profile["id"], profile]),
  );
  const reported = new Set<string>();
  for (const [path, workflow] of records("$.workflows", manifest["workflows"])) {
    for (const [place, task] of records(`${path}.tasks`, workflow["tasks"])) {
      const handler = task["on_failure"];
      const scopes = [[place, task] as const];
      if (isRecord(handler)) scopes.push([`${place}.on_failure`, handler] as const);
      for (const [at, scope] of scopes) {
        const found = judge(profiles, workflow, scope);
        if (found === undefined) continue;
        const owner = found.isOwn ? at : path;
        const message = `must not exceed resolved identity max_autonomy "${found.most}"`;
        // One line for a contract that many tasks share.
        if (reported.has(`${owner} ${message}`)) continue;
        reported.add(`${owner} ${message}`);
        findings.error(`${owner}.contract.required_trust_level`, message);
      }
    }
  }
}

function judge(
  profiles: ReadonlyMap<unknown, JsonRecord>,
  workflow: JsonRecord,
  scope: JsonRecord,
): { readonly most: TrustLevel; readonly isOwn: boolean } | undefined {
  const outer = member(workflow, "identity");
  const own = member(scope, "identity");
  const profile = profiles.get(own["ref"] ?? outer["ref"]) ?? {};
  const most = [own, outer, profile].map(maxAutonomy).find((level) => level !== undefined);
  const ownRequired = levelOf(member(scope, "contract")["required_trust_level"]);
  const required = ownRequired ?? levelOf(member(workflow, "contract")["required_trust_level"]);
  if (most === undefined || required === undefined || compareTrust(required, most) <= 0) {
    return undefined;
  }
  return { most, isOwn: ownRequired !== undefined };
}

function maxAutonomy(identity: JsonRecord): TrustLevel | undefined {
  return levelOf(member(member(identity, "trust"), "constraints")["max_autonomy"]);
}

function levelOf(value: unknown): TrustLevel | undefined {
  return TRUST_LEVELS.find((level) => level === value);
}

function member(value: JsonRecord, key: string): JsonRecord {
  const inner = value[key];
  return isRecord(inner) ? inner : {};
}
