/**
 * Issues identities: a Genesis with its Agent-ID, and the matching identity document, both in the
 * drafts' style and signed with one key. An issued identity is read back like any file, so that a
 * document that would not load is detected before it is written.   AGTP "Agent Genesis"
 */

import type { KeyObject } from "node:crypto";
import { hash } from "node:crypto";
import type { JsonRecord } from "../base/json-value.ts";
import type { Problem } from "../base/problem.ts";
import { FLOOR_METHODS } from "../catalog/catalog.ts";
import { documentOctets, readAgentFile } from "./agent-file.ts";
import { type Ed25519PublicKey, publicKeyOf, signDetached } from "./ed25519.ts";
import { type Archetype, readGenesisFile, signedOctets } from "./genesis.ts";
import { DEFAULT_VERIFICATION_PATH } from "./trust-posture.ts";

/** The content of a Genesis, and the issuer's key. */
interface GenesisOptions {
  readonly name: string;
  readonly ownerId: string;
  /** Default: `assistant`. */
  readonly archetype?: Archetype | undefined;
  /** For example `zone:eu-west`. */
  readonly governanceZone: string;
  readonly scopes: readonly string[];
  /** Default: 2. */
  readonly trustTier?: 1 | 2 | 3 | undefined;
  /** Default: `org-asserted`. */
  readonly verificationPath?: string | undefined;
  /** URL of the issuer. */
  readonly issuer: string;
  /** An Ed25519 private key; any other kind throws. */
  readonly issuerKey: KeyObject;
  /** The principal: a stable id, often a domain. */
  readonly principalId?: string | undefined;
  /** The key that the agent itself holds, if it has one. */
  readonly agentPublicKey?: Ed25519PublicKey | undefined;
  /** Default: now. */
  readonly issuedAt?: Date | undefined;
}

/** The default governance zone, in which agents of different issuers find one another. */
export const USUAL_ZONE = "zone:default";

/** The options of a Genesis and its identity document together. */
export interface AgentOptions extends Omit<GenesisOptions, "principalId">, Principal {
  readonly description: string;
}

/** The principal that an agent acts for. */
interface Principal {
  /** Display name. */
  readonly principal: string;
  /** Stable id, often a domain. */
  readonly principalId: string;
}

/** The members of an identity document beyond its Genesis. */
export type DocumentOptions = Pick<
  AgentOptions,
  | "name"
  | "description"
  | "ownerId"
  | "governanceZone"
  | "issuer"
  | "scopes"
  | "principal"
  | "principalId"
>;

interface IssuedGenesis {
  readonly agentId: string;
  readonly genesis: JsonRecord;
  /** The problems that would keep it from loading; keys are the members' names. */
  readonly problems: readonly Problem[];
}

/** A signed Genesis and its signed identity document. */
export interface IssuedAgent extends IssuedGenesis {
  readonly document: JsonRecord;
}

/** Issues a Genesis. */
export function issueGenesis(options: GenesisOptions): IssuedGenesis {
  const { genesis, agentId, issuer } = signGenesis(options);
  const { problems } = readGenesisFile(JSON.stringify(genesis), GENESIS_FILE, [issuer]);
  return { agentId, genesis, problems };
}

/** Issues a Genesis and an identity document for the same agent, active at once. */
export function issueAgent(options: AgentOptions): IssuedAgent {
  const { agentId, genesis, issuer } = signGenesis(options);
  const unsigned = describeAgent(options, genesis, agentId);
  const document = signDocument(unsigned, options.issuerKey, options.issuer);
  const born = readGenesisFile(JSON.stringify(genesis), GENESIS_FILE, [issuer]);
  const { problems } = readAgentFile(JSON.stringify(document), DOCUMENT_FILE, {
    genesis: born.genesis,
    trustedIssuers: [issuer],
  });
  return { agentId, genesis, document, problems: [...born.problems, ...problems] };
}

/** Signs an identity document for its issuer; an earlier signature is replaced. */
export function signDocument(
  document: JsonRecord,
  issuerKey: KeyObject,
  issuerUrl: string,
): JsonRecord {
  const claimed = {
    ...document,
    manifest_issuer: issuerUrl,
    manifest_issuer_public_key: issuerOf(issuerKey).text,
  };
  return { ...claimed, manifest_signature: signDetached(issuerKey, documentOctets(claimed)) };
}

const GENESIS_FILE = "genesis";
const DOCUMENT_FILE = "document";

function signGenesis(options: GenesisOptions) {
  const { issuerKey, agentPublicKey, principalId, issuedAt = new Date() } = options;
  const issuer = issuerOf(issuerKey);
  const unsigned = {
    name: options.name,
    // The base draft's name is `owner`; the drafts on identifiers and trust use `owner_id`.
    owner: options.ownerId,
    owner_id: options.ownerId,
    ...(principalId === undefined ? {} : { principal_id: principalId }),
    archetype: options.archetype ?? "assistant",
    governance_zone: options.governanceZone,
    scope: [...options.scopes],
    issued_at: issuedAt.toISOString(),
    issuer: options.issuer,
    issuer_public_key: issuer.text,
    ...(agentPublicKey === undefined ? {} : { agent_public_key: agentPublicKey.text }),
    trust_tier: options.trustTier ?? 2,
    verification_path: options.verificationPath ?? DEFAULT_VERIFICATION_PATH,
  };
  const octets = signedOctets(unsigned);
  const agentId = hash("sha256", octets);
  const signature = signDetached(issuerKey, octets);
  return { agentId, genesis: { agent_id: agentId, ...unsigned, signature }, issuer };
}

/** Builds the unsigned identity document of a Genesis. */
export function describeAgent(
  options: DocumentOptions,
  genesis: JsonRecord,
  agentId: string,
): JsonRecord {
  const issuedAt = genesis["issued_at"];
  return {
    agtp_version: "1.0",
    document_type: "agtp-identity",
    document_version: "1.0",
    agent_id: agentId,
    name: options.name,
    description: options.description,
    principal: options.principal,
    principal_id: options.principalId,
    owner_id: options.ownerId,
    governance_zone: options.governanceZone,
    issuer: options.issuer,
    issued_at: issuedAt,
    updated_at: issuedAt,
    status: "active",
    role: "agent",
    trust_tier: genesis["trust_tier"],
    verification_path: genesis["verification_path"],
    methods: [...FLOOR_METHODS],
    capabilities: [],
    scopes_accepted: [...options.scopes],
  };
}

function issuerOf(key: KeyObject): Ed25519PublicKey {
  const issuer = key.type === "private" ? publicKeyOf(key) : undefined;
  if (issuer === undefined) throw new TypeError("the issuer's key must be an Ed25519 private key");
  return issuer;
}
