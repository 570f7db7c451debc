/**
 * Resolves what a request says of its caller to the agent's document, the certificate that binds it, and
 * the scopes that this request acts under. What the same agent says again is remembered.
 * 400 malformed · 401 unknown or not who it says · 262 a claim the document does not grant · 455 a
 * claim beyond the certificate's commitment.   AGTP "Authority Scope", AGTP-CERT "Validation"
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

/** The caller of a request, and the reason to refuse it if there is one. */
export interface Resolution {
  readonly caller: Caller;
  readonly refusal: Refusal | undefined;
}

export type CallerResolver = (
  agentId: string,
  claim: string | undefined,
  peer: Pick<Peer, "certificate" | "speaksAs" | "scopes">,
) => Resolution | Refusal;

/** Resolved claims are remembered, so that a busy agent's header is parsed once: so many places for each agent. */
const LEAST_PLACES = 4_096;
const MOST_PLACES = 65_536;
const PLACES_AN_AGENT = 4;
const REMEMBERED_CLAIM_LENGTH = 1024;

interface RememberedClaim {
  readonly agentId: string;
  readonly claim: string | undefined;
  readonly certificate: ClientCertificate | undefined;
  /** The scopes of a token; the same list as long as the token is remembered. */
  readonly committed: readonly string[] | undefined;
  /** True when this server itself spoke as the agent. */
  readonly isOwn: boolean;
  readonly resolution: Resolution;
}

/** A resolver over the agents this server knows. */
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
    // Nothing is made for the caller who is looked for first: each request is one.
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
    // The second place is that of a caller who came before another one to the first.
    const second = remembered[place ^ 1];
    if (second !== undefined && isSaid(second, said)) return second.resolution;
    const resolution = resolveCaller(parts, agentId, claim, said);
    if ("kind" in resolution || (claim ?? "").length > REMEMBERED_CLAIM_LENGTH) return resolution;
    const { caller } = resolution;
    const kept = { agentId: caller.agentId ?? agentId, claim: claim && flatText(claim) };
    // A caller whose places are taken only makes the cache forget.
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
 * Where a claim is remembered. A map would hash all of a text that is new with every request, which
 * costs several times what comparing it does; and an Agent-ID is a hash in itself.
 */
function placeOf(agentId: string, claim = ""): number {
  let place = claim === "" ? 0 : claim.length * 31 + claim.charCodeAt(claim.length - 1);
  for (let back = 1; back <= 6; back += 1) {
    place = Math.imul(place, 31) + agentId.charCodeAt(agentId.length - back);
  }
  // A text that is too short has one, too: what is not a number counts as 0.
  return place >>> 0;
}

interface ResolverParts {
  readonly directory: AgentDirectory;
  readonly policy: IdentityConfig;
  /** The authority of an agent that holds these scopes, and claims no others. */
  readonly inherit: (scopes: readonly string[]) => Authority;
}

/** Agents that hold the same scopes have one authority, which each of their requests looks at. */
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

/** The evidence for an Agent-ID beside the header that names it. */
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
  // Texts of their own, now that they are perhaps remembered.
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

/** The scopes of a certificate and of a token, where both say some. */
function narrower(
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
): readonly string[] | undefined {
  return one && other ? commonScopes(one, other) : (one ?? other);
}

/** An Agent Certificate names its agent; a plain one is some agent's by its key or fingerprint. */
export function boundAgentId(
  directory: AgentDirectory,
  certificate: ClientCertificate,
): string | undefined {
  return certificate.agent?.agentId ?? directory.findByCertificate(certificate)?.agentId;
}

/** A claim narrows what the document grants; a stranger holds what it claims. */
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

/** The authority of the claimed scopes alone. */
export function claimedAuthority(scopes: readonly string[]): Authority {
  return authorityOf("claim", scopes, [compileGrants(scopes)]);
}

/** Covered is what all of the grants cover. */
function authorityOf(
  source: "claim" | "document",
  scopes: readonly string[],
  grants: readonly Grants[],
): Authority {
  return { source, scopes, covers: (required) => grants.every((one) => one.covers(required)) };
}
