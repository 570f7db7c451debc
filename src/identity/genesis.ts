/**
 * An Agent Genesis: the birth record whose hash is the Agent-ID, signed by its issuer. Hash and
 * signature cover the same octets: the canonical form of the document without the members that are
 * computed from them.   AGTP "Agent Genesis", AGTP-API §5.8.1
 */

import { hash } from "node:crypto";
import type { DocumentPlace } from "../base/document-place.ts";
import type { JsonRecord } from "../base/json-value.ts";
import { isError, type Problem } from "../base/problem.ts";
import { parseAuthorityScope } from "./authority-scope.ts";
import { canonicalForm } from "./canonical-form.ts";
import { checkTime, failWith, openDocument, readKey, readScopeTokens } from "./document-members.ts";
import { type Ed25519PublicKey, verifyDetached } from "./ed25519.ts";
import { isOwnerId } from "./identifiers.ts";
import { checkPostureSource } from "./trust-posture.ts";
import { isTrustedIssuer } from "./trusted-issuers.ts";

/** A Genesis with verified hash and signature. */
export interface Genesis {
  /** Derived from the document: 64 lower-case hex characters. */
  readonly agentId: string;
  readonly issuerKey: Ed25519PublicKey;
  /** The key that the agent itself holds. */
  readonly agentKey: Ed25519PublicKey | undefined;
  /** Undefined if the document's owner is not a valid Owner-ID. */
  readonly ownerId: string | undefined;
  /** True if the operator trusts the issuer. */
  readonly isTrusted: boolean;
  /** The canonical form of the whole document, signature included, as DISCOVER /genesis sends it. */
  readonly canonical: Uint8Array;
  /** The document as loaded. */
  readonly document: JsonRecord;
  /** The declaring file, relative to the deployment directory. */
  readonly file: string;
}

/** The kinds of agents. */
export const ARCHETYPES = ["assistant", "analyst", "executor", "orchestrator", "monitor"] as const;

export type Archetype = (typeof ARCHETYPES)[number];

/** Members that hash and signature cannot cover, because they are computed from both. */
const MADE_AFTERWARDS = ["signature", "agent_id", "log_inclusion_proof"] as const;

/** The octets that are signed, and whose hash is the Agent-ID. */
export function signedOctets(genesis: JsonRecord): Buffer {
  return canonicalForm(genesis, MADE_AFTERWARDS);
}

/** The Genesis of a file; undefined if it fails a check. */
export interface GenesisFile {
  readonly genesis: Genesis | undefined;
  readonly problems: readonly Problem[];
}

type Verified = Omit<Genesis, "isTrusted" | "file">;

const EVERY_STYLE = ["trust_tier", "issued_at", "issuer_public_key", "signature"] as const;
const DRAFTS = ["archetype", "governance_zone", "scope", ...EVERY_STYLE] as const;
const REFERENCE = [
  ...["name", "owner_id", "principal_id", "agent_public_key", "verification_path", "issuer"],
  ...EVERY_STYLE,
] as const;
const TEXTS = ["name", "owner", "principal_id", "issuer", "archetype", "issued_at"] as const;

/** Reads a Genesis from its text; `file` is the name in problems. */
export function readGenesisFile(
  text: string,
  file: string,
  trustedIssuers: readonly Ed25519PublicKey[],
): GenesisFile {
  const problems: Problem[] = [];
  const source = openDocument(text, file, problems);
  const verified = source && verify(source);
  if (source === undefined || verified === undefined || problems.some(isError)) {
    return { genesis: undefined, problems };
  }
  const isTrusted = isTrustedIssuer(verified.issuerKey, trustedIssuers);
  if (!isTrusted) source.at("issuer_public_key").warn(UNTRUSTED);
  return { genesis: { ...verified, isTrusted, file }, problems };
}

const UNTRUSTED =
  "is not among policies.identity.trusted_issuers, what the Genesis says of its trust is ignored";

/** Runs every check, even after a failure, so that all problems are reported at once. */
function verify(source: DocumentPlace): Verified | undefined {
  checkPresence(source);
  checkKinds(source);
  const issuerKey = readKey(source.at("issuer_public_key"));
  const agentKey = readKey(source.at("agent_public_key"));
  const { members: document } = source;
  const octets = signedOctets(document);
  checkSignature(source.at("signature"), issuerKey, octets);
  const agentId = hash("sha256", octets);
  const declared = source.at("agent_id");
  if (!declared.isAbsent && declared.value !== agentId) {
    failWith(declared, `must be "${agentId}", the hash of this Genesis`);
  }
  if (issuerKey === undefined) return undefined;
  const owner = document["owner_id"] ?? document["owner"];
  const ownerId = typeof owner === "string" && isOwnerId(owner) ? owner : undefined;
  const canonical = canonicalForm(document);
  return { agentId, issuerKey, agentKey, ownerId, canonical, document };
}

function checkPresence(source: DocumentPlace): void {
  const isReference = isReferenceStyle(source);
  for (const key of isReference ? REFERENCE : DRAFTS) {
    if (!source.has(key)) source.at(key).fail("is required");
  }
  if (!isReference && !source.has("owner") && !source.has("owner_id")) {
    source.at("owner").fail("is required");
  }
  const path = source.at("verification_path");
  if (source.at("trust_tier").value === 1 && !isReference && path.isAbsent) {
    path.fail("is required for trust tier 1");
  }
  if (path.value === "log-anchored" && !source.has("log_inclusion_proof")) {
    source.at("log_inclusion_proof").warn("should be there, the Genesis is log-anchored");
  }
}

/** Returns true for the reference's style: a version, the agent's own key, and no scope. */
function isReferenceStyle(source: DocumentPlace): boolean {
  if (source.has("agtp_genesis_version")) return true;
  return source.has("agent_public_key") && !source.has("scope");
}

function checkKinds(source: DocumentPlace): void {
  for (const key of TEXTS) source.at(key).optional?.text();
  checkTime(source.at("issued_at"));
  checkScope(source.at("scope"));
  for (const { key, message } of checkPostureSource(source.members)) {
    failWith(source.at(key), message);
  }
  const archetype = source.at("archetype");
  const { value } = archetype;
  if (typeof value === "string" && !(ARCHETYPES as readonly string[]).includes(value)) {
    archetype.warn(`should be one of ${ARCHETYPES.join(", ")}`);
  }
}

/** Checks a list: a JSON array, or a text as in the Authority-Scope header. */
function checkScope(place: DocumentPlace): void {
  const { value } = place;
  if (typeof value !== "string" || parseAuthorityScope(value) === undefined) readScopeTokens(place);
}

function checkSignature(
  place: DocumentPlace,
  issuerKey: Ed25519PublicKey | undefined,
  octets: Uint8Array,
): void {
  const signature = place.optional?.text();
  // Nothing to verify with: a missing key has already been reported.
  if (signature === undefined || issuerKey === undefined) return;
  if (verifyDetached(issuerKey, octets, signature)) return;
  const message = "does not verify: the Genesis was altered, or signed with another key than its";
  place.fail(`${message} issuer_public_key`);
}
