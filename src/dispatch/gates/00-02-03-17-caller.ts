/**
 * These gates establish the caller, prove what the caller claims, and ask whether the caller may act.
 * Gate 00. Who is it? Tokens are read before any gate is asked, the one step that may have to wait; the
 * gate finds what they say, or why they prove nothing.
 * 400 malformed identifiers · 401 an unknown agent, a certificate or token that is not the agent's
 * own · 501 a Delegation-Chain · 551 a delegation token that does not hold; one that does vouches for
 * an agent that only the peer knows.   AGTP "Request Headers", "Authorization"; AGTP-CERT "Validation"
 *
 * Gate 02. May the caller act in this zone, and under the scopes that it claims?
 * 457 outside the zone of its certificate · 400 a malformed claim · 262 a claim that the document
 * does not grant · 455 one beyond the certificate.   AGTP "Authority Scope"; AGTP-CERT "Governance Zone"
 *
 * Gate 03. May the agent act now? What it can still call is judged by the method that its alias stands for.
 * 503 suspended · 410 retired.   AGTP "Agent Lifecycle"
 *
 * Gate 17. Does the caller hold, and claim, what the endpoint requires?
 * 262 `scope-required` with neither a claim nor a document · 455 the missing scopes · 403 for what is
 * an agent's own affair, and is not delegated.   AGTP-API §6.4 "required_scopes", §8.7
 */

import { isExemptFromLifecycle } from "../../catalog/catalog.ts";
import type { AgentDirectory } from "../../identity/agent-directory.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import type { TokenVerdict, TokenVerifier } from "../../identity/bearer-syntax.ts";
import type { ClientCertificate } from "../../identity/client-certificate.ts";
import { isOpaqueId, isOwnerId, isRequestId } from "../../identity/identifiers.ts";
import { ANONYMOUS, type Caller } from "../caller/caller.ts";
import {
  type CallerResolver,
  claimedAuthority,
  createCallerResolver,
  type Resolution,
} from "../caller/caller-resolver.ts";
import type { CallerState } from "../caller/caller-state.ts";
import type { Delegation, DelegationReader } from "../caller/delegation.ts";
import type { Exchange } from "../exchange.ts";
import type { MethodPolicy } from "../policy/method-policy.ts";
import type { IdentityConfig } from "../policy/policies-config.ts";
import { delegationForbidden } from "../refusals/delegation-refusals.ts";
import {
  agentRetired,
  agentSuspended,
  agentUnauthenticated,
  authorizationRequired,
  badRequest,
  notImplemented,
  type Refusal,
  sameForAll,
  scopeViolation,
  zoneViolation,
} from "../refusals/refusal.ts";
import type { Route } from "../routes/route.ts";
import type { Gate } from "./gate.ts";

/** Fills in what the tokens of a request say; a promise only when that takes time. */
export function readCredentials(
  exchange: Exchange,
  tokens: TokenVerifier | undefined,
  delegations: DelegationReader | undefined,
): Promise<void> | undefined {
  const bearer = tokens === undefined ? undefined : readToken(exchange, tokens);
  const delegation = mayHandOn(exchange) ? delegations?.read(exchange.request) : undefined;
  if (delegation === undefined) return bearer;
  return Promise.all([delegation, bearer]).then(([read]) => {
    exchange.delegation = read;
  });
}

/** A peer hands a task on by one request only.   AGTP "DELEGATE" */
function mayHandOn({ method, path }: Exchange): boolean {
  return method === "DELEGATE" && path === "/";
}

/**
 * Fills in what the bearer token says; a promise only for one that is not remembered, which is
 * verified.
 */
function readToken(exchange: Exchange, tokens: TokenVerifier): Promise<void> | undefined {
  const authorization = exchange.header("authorization");
  if (authorization === undefined) return undefined;
  const known = tokens.recall(authorization);
  if (known !== undefined) return void adopt(exchange, known);
  return tokens.verify(authorization).then((verdict) => adopt(exchange, verdict));
}

function adopt(exchange: Exchange, verdict: TokenVerdict): void {
  if (verdict.kind === "valid") exchange.principalId = verdict.principalId;
  else exchange.tokenFault = verdict.reason;
}

/** The rules that it decides by. */
export interface CallerGateOptions {
  readonly directory: AgentDirectory;
  readonly policy: IdentityConfig;
  readonly certificates: CallerState["certificates"];
}

/** Knows the caller by the agents of this server, or by whoever vouches for it. */
export function callerGate({ directory, policy, certificates }: CallerGateOptions): Gate {
  const { unknownTrustTier } = policy;
  const resolve = createCallerResolver(directory, policy);
  const context = { certificates, resolve, unknownTrustTier };
  return (exchange) => {
    const fault = checkIdentifiers(exchange) ?? checkCredentials(exchange);
    if (fault !== undefined) return fault;
    const agentId = exchange.header("agent-id");
    if (agentId !== undefined) return identify(exchange, agentId, context);
    const { principalId } = exchange;
    if (principalId !== undefined) exchange.caller = { ...ANONYMOUS, principalId };
    return undefined;
  };
}

interface Context extends Pick<CallerGateOptions, "certificates"> {
  readonly resolve: CallerResolver;
  readonly unknownTrustTier: number;
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

/** A credential that is presented has to hold, even where none is asked for. */
function checkCredentials({ peer, tokenFault }: Exchange): Refusal | undefined {
  if (peer.certificateFault !== undefined) {
    return agentUnauthenticated(
      `the client certificate was not accepted: ${peer.certificateFault}`,
      "certificate-invalid",
    );
  }
  if (peer.certificate !== undefined && peer.certificate.notAfter < Date.now()) {
    return agentUnauthenticated("the client certificate has expired", "certificate-invalid");
  }
  if (tokenFault === undefined) return undefined;
  return agentUnauthenticated(`the bearer token was not accepted: ${tokenFault}`, "oauth-invalid");
}

/** An agent that its own server vouches for holds what it was to hand on, and nothing else. */
function vouched(agentId: string, delegation: Delegation, trustTier: number): Resolution {
  const { scopes = [] } = delegation.links.at(-1) ?? {};
  const authority = claimedAuthority(scopes);
  const caller: Caller = { ...ANONYMOUS, agentId, authority, trustTier, delegation };
  return { caller, refusal: undefined };
}

/** Sets the caller as soon as it is known who it is: its refusals are its own from there on. */
function identify(exchange: Exchange, agentId: string, context: Context): Refusal | undefined {
  const { certificate } = exchange.peer;
  const { delegation } = exchange;
  if (delegation !== undefined && "kind" in delegation) return delegation;
  const resolution =
    delegation === undefined
      ? context.resolve(agentId, exchange.header("authority-scope"), exchange.peer)
      : vouched(agentId, delegation, context.unknownTrustTier);
  if ("kind" in resolution) return resolution;
  const { caller } = resolution;
  const ownerId = exchange.header("owner-id");
  if (certificate !== undefined) {
    const refusal = checkCertificate(certificate, agentId, ownerId, context.certificates);
    if (refusal !== undefined) return refusal;
  }
  const { principalId } = exchange;
  exchange.caller =
    ownerId === undefined && principalId === undefined
      ? caller
      : { ...caller, ownerId: ownerId ?? caller.ownerId, principalId };
  exchange.isNamed = true;
  exchange.claimRefusal = resolution.refusal;
  return undefined;
}

function checkCertificate(
  certificate: ClientCertificate,
  agentId: string,
  ownerId: string | undefined,
  certificates: CallerState["certificates"],
): Refusal | undefined {
  if (certificates.isRevoked(certificate, agentId)) {
    return agentUnauthenticated("the client certificate was revoked", "certificate-revoked");
  }
  const owner = certificate.agent?.ownerId;
  if (owner !== undefined && ownerId !== undefined && owner !== ownerId) {
    const message = "the Owner-ID is not the one that the certificate names";
    return agentUnauthenticated(message, "certificate-mismatch");
  }
  return undefined;
}

/** Gate 02: refuses what the claim was found to be when the caller was resolved. */
export const authorityGate: Gate = (exchange) => checkZone(exchange) ?? exchange.claimRefusal;

/** An agent that names no zone stays in its own; a caller without Agent-ID is in none. */
function checkZone(exchange: Exchange): Refusal | undefined {
  if (exchange.caller.agentId === undefined) return undefined;
  const zone = exchange.peer.certificate?.agent?.governanceZone;
  if (zone === undefined) return undefined;
  const asked = exchange.header("agtp-zone-id");
  if (asked === undefined || zone === asked) return undefined;
  return zoneViolation("the AGTP-Zone-ID is not the governance zone of the certificate");
}

/** Gate 17: looks at whatever requires scopes; most of the protocol's own decide for themselves. */
export function scopeGate(scopeRequiredForInvocation: boolean): Gate {
  const refuse = createScopeRefusals();
  return ({ route, caller }) => {
    if (route === undefined) return undefined;
    if (caller.delegation !== undefined && !isDelegable(route)) {
      const message = `${route.method} ${route.path} is the agent's own affair, and is not delegated`;
      return delegationForbidden("not-delegable", message);
    }
    const { requiredScopes } = route;
    if (route.tier === "A" && requiredScopes.length === 0) return undefined;
    const { authority } = caller;
    if (scopeRequiredForInvocation && authority.source === "none") {
      const message = "this endpoint needs an Authority-Scope header";
      return authorizationRequired("scope-required", message, {
        details: { required_scopes: requiredScopes },
      });
    }
    if (requiredScopes.length === 0) return undefined;
    const missing = requiredScopes.filter((scope) => !authority.covers(scope));
    return missing.length === 0 ? undefined : refuse(requiredScopes, missing);
  };
}

interface LastMissing {
  readonly missing: readonly string[];
  readonly refusal: Refusal;
}

/** Makes refusals; one like the last of the same endpoint is not put together anew. */
function createScopeRefusals(): (
  required: readonly string[],
  missing: readonly string[],
) => Refusal {
  const last = new WeakMap<readonly string[], LastMissing>();
  return (required, missing) => {
    const before = last.get(required);
    if (before !== undefined && isSameList(before.missing, missing)) return before.refusal;
    const refusal = sameForAll(scopeViolation(missing));
    last.set(required, { missing, refusal });
    return refusal;
  };
}

function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, at) => text === other[at]);
}

/**
 * Work that an agent can be asked to do for another: none of it shows or changes what is its own.
 */
const DELEGABLE: ReadonlySet<string> = new Set([
  ...["QUERY", "DISCOVER", "DESCRIBE", "SUMMARIZE", "PLAN", "EXECUTE", "DELEGATE"],
]);

/** Beside the operator's endpoints, which ask for scopes, only what is the same for everybody. */
function isDelegable({ tier, method, path }: Route): boolean {
  if (tier === "B") return true;
  if (tier === "C" || path === "/contracts") return false;
  return DELEGABLE.has(method) && (path === "/" || method === "DISCOVER");
}

export interface LifecycleGateOptions {
  readonly directory: Pick<AgentDirectory, "find">;
  readonly methodPolicy: Pick<MethodPolicy, "alias">;
  readonly lifecycle: CallerState["lifecycle"];
}

/** Looks at agents of this server, whoever vouches for them. */
export function lifecycleGate({ directory, methodPolicy, lifecycle }: LifecycleGateOptions): Gate {
  return (exchange) => {
    const { agentId, document } = exchange.caller;
    if (agentId === undefined) return undefined;
    const refusal = refuseInactive(document ?? directory.find(agentId), lifecycle);
    if (refusal === undefined) return undefined;
    // A redirect may lead away from what is exempt.
    exchange.inactiveRefusal = refusal;
    const method = methodPolicy.alias(exchange.method)?.method ?? exchange.method;
    return isExemptFromLifecycle(method) ? undefined : refusal;
  };
}

/** Why an agent may not act now; undefined when it may. */
export function refuseInactive(
  document: AgentDocument | undefined,
  lifecycle: CallerState["lifecycle"],
): Refusal | undefined {
  if (document === undefined) return undefined;
  const status = lifecycle.statusOf(document);
  if (status === "suspended") return agentSuspended(document.agentId);
  if (status === "retired") return agentRetired(document.agentId, lifecycle.statusSince(document));
  return undefined;
}
