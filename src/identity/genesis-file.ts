/**
 * One `*.genesis.json` file: from its text to a verified Genesis, or to every check that it fails.
 * Two styles are accepted: the drafts', and the reference's `agtp-genesis/1`. Members that are not
 * known here are kept, because hash and signature cover them.   AGTP "Agent Genesis"
 */
import { isRecord, type JsonRecord, quoteValue } from "../base/json-value.ts";
import { isError, type Problem } from "../base/problem.ts";
import { parseAuthorityScope } from "./authority-scope.ts";
import { canonicalForm, sha256Hex } from "./canonical-form.ts";
import {
  checkTime,
  hasMember,
  type Report,
  readKey,
  readScopeTokens,
  readText,
} from "./document-members.ts";
import { type Ed25519PublicKey, verifyDetached } from "./ed25519.ts";
import { ARCHETYPES, type Genesis, signedOctets } from "./genesis.ts";
import { isOwnerId } from "./identifiers.ts";
import { parseBoundedJson } from "./json-document.ts";
import { checkPostureSource } from "./trust-posture.ts";
import { isTrustedIssuer } from "./trusted-issuers.ts";

/** The Genesis of a file, undefined when it fails a check. */
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
const TEXTS = ["name", "owner", "principal_id", "issuer", "archetype"] as const;

/** Reads a Genesis from its text; `file` is the name that problems carry. */
export function readGenesisFile(
  text: string,
  file: string,
  trustedIssuers: readonly Ed25519PublicKey[],
): GenesisFile {
  const problems: Problem[] = [];
  const report: Report = (key, message, severity) => {
    problems.push({ file, key, message, ...(severity === undefined ? {} : { severity }) });
  };
  const verified = verify(text, report);
  if (verified === undefined || problems.some(isError)) return { genesis: undefined, problems };
  const isTrusted = isTrustedIssuer(verified.issuerKey, trustedIssuers);
  if (!isTrusted) report("issuer_public_key", UNTRUSTED, "warning");
  return { genesis: { ...verified, isTrusted, file }, problems };
}

const UNTRUSTED =
  "is not among policies.identity.trusted_issuers, what the Genesis says of its trust is ignored";

/** Every check is made, whichever fails, so that one look at the problems shows them all. */
function verify(text: string, report: Report): Verified | undefined {
  const parsed = parseBoundedJson(text);
  if (parsed.fault !== undefined) {
    report("", parsed.fault);
    return undefined;
  }
  const source = parsed.value;
  if (!isRecord(source)) {
    report("", "must be a JSON object");
    return undefined;
  }
  checkPresence(source, report);
  checkKinds(source, report);
  const issuerKey = readKey(source, "issuer_public_key", report);
  const agentKey = readKey(source, "agent_public_key", report);
  const octets = signedOctets(source);
  checkSignature(source, issuerKey, octets, report);
  const agentId = sha256Hex(octets);
  const declared = source["agent_id"] ?? undefined;
  if (declared !== undefined && declared !== agentId) {
    report(
      "agent_id",
      `must be "${agentId}", the hash of this Genesis, got ${quoteValue(declared)}`,
    );
  }
  if (issuerKey === undefined) return undefined;
  const owner = source["owner_id"] ?? source["owner"];
  const ownerId = typeof owner === "string" && isOwnerId(owner) ? owner : undefined;
  return {
    agentId,
    issuerKey,
    agentKey,
    ownerId,
    canonical: canonicalForm(source),
    document: source,
  };
}

function checkPresence(source: JsonRecord, report: Report): void {
  const isReference = isReferenceStyle(source);
  for (const key of isReference ? REFERENCE : DRAFTS) {
    if (!hasMember(source, key)) report(key, "is required");
  }
  if (!isReference && !hasMember(source, "owner") && !hasMember(source, "owner_id")) {
    report("owner", "is required");
  }
  if (source["trust_tier"] === 1 && !isReference && !hasMember(source, "verification_path")) {
    report("verification_path", "is required for trust tier 1");
  }
  if (source["verification_path"] === "log-anchored" && !hasMember(source, "log_inclusion_proof")) {
    report("log_inclusion_proof", "should be there, the Genesis is log-anchored", "warning");
  }
}

/** The reference names its version, has a key of the agent's own, and grants no scope. */
function isReferenceStyle(source: JsonRecord): boolean {
  if (hasMember(source, "agtp_genesis_version")) return true;
  return hasMember(source, "agent_public_key") && !hasMember(source, "scope");
}

function checkKinds(source: JsonRecord, report: Report): void {
  for (const key of TEXTS) readText(source, key, report);
  checkTime(readText(source, "issued_at", report), "issued_at", report);
  checkScope(source["scope"] ?? undefined, report);
  for (const fault of checkPostureSource(source)) {
    report(fault.key, `${fault.message}, got ${quoteValue(source[fault.key])}`);
  }
  const archetype = source["archetype"];
  if (typeof archetype === "string" && !(ARCHETYPES as readonly string[]).includes(archetype)) {
    report("archetype", `should be one of ${ARCHETYPES.join(", ")}`, "warning");
  }
}

/** A list in JSON, or the list that the Authority-Scope header would carry. */
function checkScope(scope: unknown, report: Report): void {
  if (scope === undefined) return;
  if (typeof scope === "string" && parseAuthorityScope(scope) !== undefined) return;
  readScopeTokens(scope, "scope", report);
}

function checkSignature(
  source: JsonRecord,
  issuerKey: Ed25519PublicKey | undefined,
  octets: Uint8Array,
  report: Report,
): void {
  const signature = readText(source, "signature", report);
  // Without a key there is nothing to verify with, and that has been reported.
  if (signature === undefined || issuerKey === undefined) return;
  if (verifyDetached(issuerKey, octets, signature)) return;
  const message = "does not verify: the Genesis was altered, or signed with another key than its";
  report("signature", `${message} issuer_public_key`);
}
