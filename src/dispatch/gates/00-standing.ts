/**
 * Gate 00. Who is asking, and is what they claim true?
 * 400 malformed identifiers · 401 unknown agent · 262 a scope claim the document does not grant ·
 * 501 a Delegation-Chain.   AGTP "Request Headers", "Authority Scope"
 */
import type { IdentityConfig } from "../../config/config.ts";
import type { AgentDirectory } from "../../identity/agent-directory.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import { compileGrants, type Grants, parseAuthorityScope } from "../../identity/authority-scope.ts";
import { isAgentId, isOpaqueId, isOwnerId, isRequestId } from "../../identity/identifiers.ts";
import { type Authority, type Caller, NO_AUTHORITY } from "../caller.ts";
import type { Exchange } from "../exchange.ts";
import {
  agentUnauthenticated,
  authorizationRequired,
  badRequest,
  notImplemented,
  type Refusal,
} from "../refusal.ts";
import type { Gate } from "./gate.ts";

/** Resolved claims are remembered, so that a busy agent's header is parsed once. */
const REMEMBERED_CLAIMS = 4096;
const REMEMBERED_CLAIM_LENGTH = 1024;

interface RememberedClaim {
  readonly agentId: string;
  readonly claim: string | undefined;
  readonly caller: Caller;
}

type Resolution = Caller | Refusal;

/** Gate 00 over the agents this server knows. */
export function standingGate(directory: AgentDirectory, policy: IdentityConfig): Gate {
  const resolve = createCallerResolver(directory, policy);
  return (exchange) => {
    const fault = checkIdentifiers(exchange);
    if (fault !== undefined) return fault;
    const agentId = exchange.header("agent-id");
    if (agentId === undefined) return undefined;
    const resolution = resolve(agentId, exchange.header("authority-scope"));
    if ("kind" in resolution) return resolution;
    const ownerId = exchange.header("owner-id");
    exchange.caller = ownerId === undefined ? resolution : { ...resolution, ownerId };
    return undefined;
  };
}

/** Syntax of the identifier headers, each only when present.   AGTP "Identifier Formats" */
function checkIdentifiers(exchange: Exchange): Refusal | undefined {
  const { taskId, sessionId } = exchange;
  const requestId = exchange.header("request-id");
  if (requestId !== undefined && !isRequestId(requestId)) {
    return invalidIdentifier("Request-ID", "a UUIDv7 or a ULID");
  }
  if (taskId !== undefined && !isOpaqueId(taskId)) return invalidIdentifier("Task-ID", OPAQUE);
  if (sessionId !== undefined && !isOpaqueId(sessionId)) {
    return invalidIdentifier("Session-ID", OPAQUE);
  }
  const ownerId = exchange.header("owner-id");
  if (ownerId !== undefined && !isOwnerId(ownerId)) {
    return invalidIdentifier("Owner-ID", "1 to 256 of A-Z a-z 0-9 - _ : .");
  }
  if (exchange.header("delegation-chain") !== undefined) {
    return notImplemented("delegation-chain", "this server takes no Delegation-Chain header");
  }
  return undefined;
}

const OPAQUE = "1 to 256 visible ASCII characters";

function invalidIdentifier(name: string, expected: string): Refusal {
  return badRequest("invalid-identifier", `${name} must be ${expected}`, { header: name });
}

function createCallerResolver(
  directory: AgentDirectory,
  policy: IdentityConfig,
): (agentId: string, claim: string | undefined) => Resolution {
  const remembered = new Array<RememberedClaim | undefined>(REMEMBERED_CLAIMS).fill(undefined);
  return (agentId, claim) => {
    const place = placeOf(agentId, claim);
    const known = remembered[place];
    if (known?.agentId === agentId && known.claim === claim) return known.caller;
    const own = ownCopy(agentId);
    const ownClaim = claim === undefined ? undefined : ownCopy(claim);
    const resolution = resolveCaller(directory, policy, own, ownClaim);
    if ("kind" in resolution || (claim ?? "").length > REMEMBERED_CLAIM_LENGTH) return resolution;
    // Whoever comes to a place that is taken only makes this forget.
    remembered[place] = { agentId: own, claim: ownClaim, caller: resolution };
    return resolution;
  };
}

/**
 * Where a claim is remembered. A map would hash all of a text that is new with every request, which
 * costs several times what comparing it does; and an Agent-ID is a hash in itself.
 */
function placeOf(agentId: string, claim = ""): number {
  let place = claim === "" ? 0 : claim.length * 31 + claim.charCodeAt(claim.length - 1);
  for (let at = 0; at < 4; at += 1) place = place * 31 + agentId.charCodeAt(at);
  // Not a number, for a text that is too short, is place 0.
  return (place >>> 0) % REMEMBERED_CLAIMS;
}

/** A string cut from a message keeps the whole message alive; a copy does not. */
function ownCopy(text: string): string {
  return Buffer.from(text, "latin1").toString("latin1");
}

function resolveCaller(
  directory: AgentDirectory,
  policy: IdentityConfig,
  agentId: string,
  claim: string | undefined,
): Resolution {
  if (!isAgentId(agentId)) {
    return badRequest("invalid-canonical-id", "Agent-ID must be 64 lower-case hex characters");
  }
  if (policy.assurance === "certificate") {
    return agentUnauthenticated("this server admits only agents that present a certificate");
  }
  const document = directory.find(agentId);
  if (document === undefined && policy.unknownAgents === "reject") {
    return agentUnauthenticated("the Agent-ID is not known to this server");
  }
  const authority = resolveAuthority(document, claim);
  if ("kind" in authority) return authority;
  return {
    agentId,
    ownerId: undefined,
    principalId: undefined,
    document,
    authority,
    trustTier: document?.trustTier ?? policy.unknownTrustTier,
  };
}

/** A claim narrows what the document grants; a stranger holds what it claims. */
function resolveAuthority(
  document: AgentDocument | undefined,
  claim: string | undefined,
): Authority | Refusal {
  const granted = document === undefined ? undefined : compileGrants(document.scopes);
  if (claim === undefined) {
    if (document === undefined || granted === undefined) return NO_AUTHORITY;
    return authorityOf("document", document.scopes, granted);
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
  return authorityOf("claim", claimed, compileGrants(claimed));
}

function authorityOf(
  source: "claim" | "document",
  scopes: readonly string[],
  grants: Grants,
): Authority {
  return { source, scopes, covers: (required) => grants.covers(required) };
}
