/**
 * Resolves a request's caller: the agent's document, the certificate that binds it, and the scopes
 * that this request acts under. Results are cached per agent and claim. 400 malformed · 401
 * unknown, or proven to be another · 262 a claim that the document does not grant · 455 a claim
 * beyond the certificate's commitment.   AGTP "Authority Scope", AGTP-CERT "Validation"
 */

import { flatText } from "../../base/kept-text.ts";
import type { AgentDirectory } from "../../identity/agent-directory.ts";
import {
  commonScopes,
  compileGrants,
  type Grants,
  parseAuthorityScope,
} from "../../identity/authority-scope.ts";
import type { ClientCertificate } from "../../identity/client-certificate.ts";
import { isAgentId } from "../../identity/identifiers.ts";
import type { IdentityConfig } from "../policy/policies-section.ts";
import {
  agentUnauthenticated,
  authorizationRequired,
  badRequest,
  type Refusal,
  sameForAll,
  scopeViolation,
} from "../refusals/refusal.ts";
import { type Authority, type Caller, NO_AUTHORITY } from "./caller.ts";
import type { Peer } from "./peer.ts";

/** The resolved caller, and the refusal of its request if there is one. */
export interface Resolution {
  readonly caller: Caller;
  readonly refusal: Refusal | undefined;
}

export type CallerResolver = (
  agentId: string,
  claim: string | undefined,
  peer: Pick<Peer, "certificate" | "speaksAs" | "scopes">,
) => Resolution | Refusal;

/** Cached claims, so that a busy agent's header is parsed once; the cache grows with the agents. */
const LEAST_PLACES = 4_096;
const MOST_PLACES = 65_536;
const PLACES_AN_AGENT = 4;
const REMEMBERED_CLAIM_LENGTH = 1024;

interface RememberedClaim {
  readonly agentId: string;
  readonly claim: string | undefined;
  readonly certificate: ClientCertificate | undefined;
  /** The scopes of a token, by identity: the same list as long as the token is cached. */
  readonly committed: readonly string[] | undefined;
  /** True if this server itself spoke as the agent. */
  readonly isOwn: boolean;
  readonly resolution: Resolution;
}

/** Creates a resolver over the agents that this server knows. */
export function createCallerResolver(
  directory: AgentDirectory,
  policy: IdentityConfig,
): CallerResolver {
  let places = LEAST_PLACES;
  const wanted = Math.min(PLACES_AN_AGENT * directory.list().length, MOST_PLACES);
  while (places < wanted) places *= 2;
  const remembered = new Array<RememberedClaim | undefined>(places).fill(undefined);
  const parts = { directory, policy, inherit: createInheritance() };
  return (agentId, claim, { certificate, speaksAs, scopes: committed }) => {
    const place = placeOf(agentId, claim) & (places - 1);
    const isOwn = speaksAs === agentId;
    const first = remembered[place];
    // Compares in place, so that a hit allocates nothing.
    if (
      first?.agentId === agentId &&
      first.claim === claim &&
      first.certificate === certificate &&
      first.committed === committed &&
      first.isOwn === isOwn
    ) {
      return first.resolution;
    }
    const said = { agentId, claim, certificate, committed, isOwn };
    // The neighbouring slot holds the caller that was displaced from the first.
    const second = remembered[place ^ 1];
    if (second !== undefined && isSaid(second, said)) return second.resolution;
    const resolution = resolveCaller(parts, agentId, claim, said);
    if ("kind" in resolution || (claim ?? "").length > REMEMBERED_CLAIM_LENGTH) return resolution;
    const { caller } = resolution;
    const kept = { agentId: caller.agentId ?? agentId, claim: claim && flatText(claim) };
    // Callers that share a slot only evict each other.
    if (first !== undefined) remembered[place ^ 1] = first;
    remembered[place] = { ...said, ...kept, resolution };
    return resolution;
  };
}

function isSaid(known: RememberedClaim, said: Omit<RememberedClaim, "resolution">): boolean {
  return (
    known.agentId === said.agentId &&
    known.claim === said.claim &&
    known.certificate === said.certificate &&
    known.committed === said.committed &&
    known.isOwn === said.isOwn
  );
}

/**
 * Returns a claim's slot in the cache. A map would hash the whole text anew for each request, which
 * costs several times the comparison; an Agent-ID is a hash already.
 */
function placeOf(agentId: string, claim = ""): number {
  let place = claim === "" ? 0 : claim.length * 31 + claim.charCodeAt(claim.length - 1);
  for (let back = 1; back <= 6; back += 1) {
    place = Math.imul(place, 31) + agentId.charCodeAt(agentId.length - back);
  }
  // A short text yields NaN, which counts as 0.
  return place >>> 0;
}

interface ResolverParts {
  readonly directory: AgentDirectory;
  readonly policy: IdentityConfig;
  /** Returns the authority of an agent that holds these scopes and claims no others. */
  readonly inherit: (scopes: readonly string[]) => Authority;
}

/** Shares one authority among agents with the same scopes, since every request reads it. */
function createInheritance(): ResolverParts["inherit"] {
  const authorities = new Map<string, Authority>();
  return (scopes) => {
    const text = scopes.join(" ");
    const known = authorities.get(text);
    if (known !== undefined) return known;
    const made = authorityOf("document", scopes, [compileGrants(scopes)]);
    authorities.set(text, made);
    return made;
  };
}

const UNKNOWN_AGENT = sameForAll(agentUnauthenticated("the Agent-ID is not known to this server"));

/** The evidence for an Agent-ID besides the header that names it. */
type Proof = Pick<RememberedClaim, "certificate" | "committed" | "isOwn">;

function resolveCaller(
  { directory, policy, inherit }: ResolverParts,
  agentId: string,
  claim: string | undefined,
  proof: Proof,
): Resolution | Refusal {
  const { certificate, isOwn } = proof;
  if (!isAgentId(agentId)) {
    return badRequest("invalid-canonical-id", "Agent-ID must be 64 lower-case hex characters");
  }
  const bound = certificate === undefined ? undefined : boundAgentId(directory, certificate);
  if (bound !== undefined && bound !== agentId) {
    const message = "the Agent-ID is not the one that the certificate belongs to";
    return agentUnauthenticated(message, "certificate-mismatch");
  }
  if (bound === undefined && policy.assurance === "certificate" && !isOwn) {
    const message = "this server admits only agents that present a certificate of their own";
    return agentUnauthenticated(message, "certificate-required");
  }
  const document = directory.find(agentId);
  if (document === undefined && policy.unknownAgents === "reject") {
    return UNKNOWN_AGENT;
  }
  const committed = narrower(certificate?.agent?.scopes, proof.committed);
  // Flat copies, since the result may be cached.
  const authority = resolveAuthority(
    document && inherit(document.scopes),
    claim && flatText(claim),
    committed,
  );
  const refusal = "kind" in authority ? authority : undefined;
  const caller: Caller = {
    agentId: document?.agentId ?? flatText(agentId),
    ownerId: certificate?.agent?.ownerId,
    principalId: undefined,
    document,
    authority: "kind" in authority ? NO_AUTHORITY : authority,
    trustTier: document?.trustTier ?? policy.unknownTrustTier,
    isCertified: bound !== undefined,
  };
  return { caller, refusal };
}

/** Returns the scopes that certificate and token share, or those of the only one that has any. */
function narrower(
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
): readonly string[] | undefined {
  return one && other ? commonScopes(one, other) : (one ?? other);
}

/** Returns the agent that an Agent Certificate names, or whose key or fingerprint a plain one has. */
export function boundAgentId(
  directory: AgentDirectory,
  certificate: ClientCertificate,
): string | undefined {
  return certificate.agent?.agentId ?? directory.findByCertificate(certificate)?.agentId;
}

/** Narrows the document's grants to the claim; an unknown agent holds exactly its claim. */
function resolveAuthority(
  granted: Authority | undefined,
  claim: string | undefined,
  committed: readonly string[] | undefined,
): Authority | Refusal {
  const commitment = committed === undefined ? undefined : compileGrants(committed);
  if (claim === undefined) {
    if (granted === undefined || committed === undefined || commitment === undefined) {
      return granted ?? NO_AUTHORITY;
    }
    const common = commonScopes(granted.scopes, committed);
    return authorityOf("document", common, [granted, commitment]);
  }
  const claimed = parseAuthorityScope(claim);
  if (claimed === undefined) {
    const message = "Authority-Scope must be a comma-separated list of scope tokens";
    return badRequest("invalid-authority-scope", message, { header: "Authority-Scope" });
  }
  const invalid = granted === undefined ? [] : claimed.filter((token) => !granted.covers(token));
  if (invalid.length > 0) {
    const message = `the agent does not hold ${invalid.join(", ")}`;
    return authorizationRequired("scope-claim-invalid", message, { details: { invalid } });
  }
  const beyond = commitment === undefined ? [] : claimed.filter((one) => !commitment.covers(one));
  if (beyond.length > 0) return scopeViolation(beyond);
  return claimedAuthority(claimed);
}

/** Returns the authority of the claimed scopes alone. */
export function claimedAuthority(scopes: readonly string[]): Authority {
  return authorityOf("claim", scopes, [compileGrants(scopes)]);
}

/** Builds an authority that covers only what every one of the grants covers. */
function authorityOf(
  source: "claim" | "document",
  scopes: readonly string[],
  grants: readonly Grants[],
): Authority {
  return { source, scopes, covers: (required) => grants.every((one) => one.covers(required)) };
}
