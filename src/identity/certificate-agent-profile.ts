/**
 * The extensions of an Agent Certificate as they are written: critical as the profile has them,
 * under the object identifiers that are widest known, text as it is.
 * AGTP-CERT "Agent Certificate Profile"
 */
import { isScopeToken } from "./authority-scope.ts";
import {
  type AgentExtensionName,
  AgentExtensionOid,
  isArchetype,
  isGovernanceZone,
} from "./certificate-agent-extensions.ts";
import type { CertificateFault } from "./certificate-fields.ts";
import { isAgentId, isOwnerId } from "./identifiers.ts";

/** The agent's profile in a certificate. */
export interface AgentProfile {
  readonly agentId: string;
  readonly ownerId?: string | undefined;
  /** An empty list commits the agent to none at all. */
  readonly scopes?: readonly string[] | undefined;
  readonly governanceZone?: string | undefined;
  readonly trustTier?: 1 | 2 | 3 | undefined;
  readonly archetype?: string | undefined;
}

/** An extension that can be written. */
export interface EncodedExtension {
  readonly oid: string;
  readonly isCritical: boolean;
  readonly value: Buffer;
}

const MAX_SCOPES = 256;

/** The fault for which no reader would take a profile. */
export function checkAgentProfile(profile: AgentProfile): CertificateFault | undefined {
  const { agentId, ownerId, scopes, governanceZone, trustTier, archetype } = profile;
  if (!isAgentId(agentId)) {
    return mustBe("the agent id", "64 lower-case hex characters", agentId);
  }
  if (ownerId !== undefined && !isOwnerId(ownerId)) {
    return mustBe("the owner id", "1 to 256 of A-Z a-z 0-9 - _ : .", ownerId);
  }
  const scope = scopes?.find((token) => !isScopeToken(token));
  if (scope !== undefined) return mustBe("a scope", "two or more segments joined by :", scope);
  if (scopes !== undefined && scopes.length > MAX_SCOPES) {
    return { fault: `the scopes must be at most ${MAX_SCOPES}, got ${scopes.length}` };
  }
  if (governanceZone !== undefined && !isGovernanceZone(governanceZone)) {
    return mustBe("the governance zone", "zone: and visible ASCII characters", governanceZone);
  }
  if (trustTier !== undefined && ![1, 2, 3].includes(trustTier)) {
    return mustBe("the trust tier", "1, 2 or 3", trustTier);
  }
  if (archetype === undefined || isArchetype(archetype)) return undefined;
  return mustBe("the archetype", "1 to 256 characters, none of them control characters", archetype);
}

/** The extensions for a profile that has been checked. */
export function encodeAgentExtensions(profile: AgentProfile): readonly EncodedExtension[] {
  const { agentId, ownerId, scopes, governanceZone, trustTier, archetype } = profile;
  const commitment = scopes === undefined ? undefined : [...new Set(scopes)].sort().join(",");
  return [
    ...encode("agent-id", true, agentId),
    ...encode("owner-id", true, ownerId),
    ...encode("authority-scope-commitment", true, commitment),
    ...encode("governance-zone", false, governanceZone),
    ...encode("trust-tier", false, trustTier && Buffer.from([0x02, 0x01, trustTier])),
    ...encode("archetype", false, archetype),
  ];
}

function encode(
  name: AgentExtensionName,
  isCritical: boolean,
  value: string | Buffer | undefined,
): readonly EncodedExtension[] {
  if (value === undefined) return [];
  const octets = typeof value === "string" ? Buffer.from(value, "utf8") : value;
  return [{ oid: AgentExtensionOid[name][0], isCritical, value: octets }];
}

function mustBe(what: string, expected: string, got: string | number): CertificateFault {
  return { fault: `${what} must be ${expected}, got ${JSON.stringify(got)}` };
}
