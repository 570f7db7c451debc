/**
 * The AGTP extensions of an Agent Certificate. A value is plain text, or a DER string of it; DER
 * begins with control characters, so the two cannot be confused. A malformed extension invalidates
 * the certificate: ignoring it would widen what it was meant to limit.
 * AGTP-CERT "Agent Certificate Profile"
 */
import { isDeepStrictEqual } from "node:util";
import { decodeExactUtf8 } from "../base/utf8.ts";
import { isScopeToken, parseAuthorityScope } from "./authority-scope.ts";
import { DerTag, readElement, readNatural } from "./certificate-der.ts";
import type { CertificateExtension, CertificateFault } from "./certificate-fields.ts";
import type { AgentExtensions } from "./client-certificate.ts";
import { isAgentId, isOwnerId } from "./identifiers.ts";

/**
 * The object identifiers of each extension. The profile renamed two extensions and states that
 * their object identifiers are unchanged, yet derives these from the name. The first belongs to the
 * old name, which existing issuers and this server write; the second to the new one.
 */
export const AgentExtensionOid = {
  "agent-id": [
    "2.25.268315605531543067570885820853135175300",
    "2.25.270589222713521482848242912882674957013",
  ],
  "owner-id": [
    "2.25.1702125237121760683219637876567909613",
    "2.25.23114076405071288504909871284023186248",
  ],
  "authority-scope-commitment": ["2.25.282163161526436136340860154693646256049"],
  "governance-zone": ["2.25.166172302800383381461126246055580541663"],
  "trust-tier": ["2.25.198335757712203466569903271149789286606"],
  archetype: ["2.25.73414372111527645744102975685149753054"],
  "activation-certificate-id": ["2.25.251807688045435852997712124138766290036"],
  "agtp-ctl-sct": ["2.25.265641071119838462866957460025010755013"],
} as const;

/** The name of an Agent Certificate's extension. */
export type AgentExtensionName = keyof typeof AgentExtensionOid;

/** Returns true if an object identifier is one of an AGTP extension. */
export function isAgentExtension(oid: string): boolean {
  return Object.values(AgentExtensionOid).some((oids) => oids.some((one) => one === oid));
}

type Extensions = ReadonlyMap<string, CertificateExtension>;
type Decode<Value> = (octets: Buffer) => Value | undefined;

/** Visible ASCII, because it is compared with a header field. */
const GOVERNANCE_ZONE = /^zone:[\x21-\x7e]{1,251}$/;
const ARCHETYPE = /^[^\p{Cc}]{1,256}$/u;
const ASCII = /^[\x00-\x7f]*$/;

/** The agent of a certificate; undefined for a plain certificate. */
export function readAgentExtensions(
  extensions: Extensions,
): AgentExtensions | CertificateFault | undefined {
  const faults: string[] = [];
  const read = <Value>(name: AgentExtensionName, decode: Decode<Value>): Value | undefined => {
    const reading = readValue(extensions, name, decode);
    if (typeof reading === "string") faults.push(reading);
    return typeof reading === "string" ? undefined : reading?.value;
  };
  const agentId = read("agent-id", textThat(isAgentId));
  const agent = {
    ownerId: read("owner-id", textThat(isOwnerId)),
    scopes: read("authority-scope-commitment", readScopes),
    governanceZone: read("governance-zone", textThat(isGovernanceZone)),
    trustTier: read("trust-tier", readTrustTier),
    archetype: read("archetype", textThat(isArchetype)),
  };
  const others = [
    read("activation-certificate-id", textThat(isAgentId)),
    // A log's receipt, whose encoding the profile leaves open: it is not evaluated.
    read("agtp-ctl-sct", (octets) => octets.length > 0 || undefined),
  ];
  const [fault] = faults;
  if (fault !== undefined) return { fault };
  if (agentId !== undefined) return { agentId, ...agent };
  const isPlain = [...Object.values(agent), ...others].every((value) => value === undefined);
  return isPlain ? undefined : { fault: "has extensions of an agent, but no agent-id" };
}

function isGovernanceZone(text: string): boolean {
  return GOVERNANCE_ZONE.test(text);
}

function isArchetype(text: string): boolean {
  return ARCHETYPE.test(text);
}

/** The value of an extension under all its object identifiers, or its fault. */
function readValue<Value>(
  extensions: Extensions,
  name: AgentExtensionName,
  decode: Decode<Value>,
): { readonly value: Value } | string | undefined {
  const present = AgentExtensionOid[name].flatMap((oid) => extensions.get(oid) ?? []);
  const [value, ...others] = present.map((extension) => decode(extension.value));
  if (present.length === 0) return undefined;
  if (value === undefined) return `has a malformed ${name} extension`;
  const agrees = others.every((other) => isDeepStrictEqual(other, value));
  return agrees ? { value } : `has two ${name} extensions that differ`;
}

function textThat(isValid: (text: string) => boolean): Decode<string> {
  return (octets) => {
    const text = readText(octets);
    return text !== undefined && isValid(text) ? text : undefined;
  };
}

function readText(octets: Buffer): string | undefined {
  const isUtf8 = octets[0] === DerTag.utf8String;
  const isString = isUtf8 || octets[0] === DerTag.printableString || octets[0] === DerTag.ia5String;
  const content = isString ? readElement(octets)?.content : octets;
  const text = content && decodeExactUtf8(content);
  if (text === undefined || !isString || isUtf8) return text;
  return ASCII.test(text) ? text : undefined;
}

/** An empty list is valid: it commits the agent to no scope at all. */
function readScopes(octets: Buffer): readonly string[] | undefined {
  const text = readText(octets);
  return text === undefined ? undefined : parseAuthorityScope(text);
}

function readTrustTier(octets: Buffer): 1 | 2 | 3 | undefined {
  const number = readNatural(readElement(octets));
  if (number?.length !== 1) return undefined;
  const [tier] = number;
  return tier === 1 || tier === 2 || tier === 3 ? tier : undefined;
}

/** The agent's extensions to write into a certificate. */
export interface AgentProfile {
  readonly agentId: string;
  readonly ownerId?: string | undefined;
  /** An empty list commits the agent to no scope at all. */
  readonly scopes?: readonly string[] | undefined;
  readonly governanceZone?: string | undefined;
  readonly trustTier?: 1 | 2 | 3 | undefined;
  readonly archetype?: string | undefined;
}

export interface EncodedExtension {
  readonly oid: string;
  readonly isCritical: boolean;
  readonly value: Buffer;
}

const MAX_SCOPES = 256;

/** Checks a profile for faults that would make readers refuse it. */
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

/** Encodes the extensions of a checked profile. */
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
