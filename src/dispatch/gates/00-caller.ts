/**
 * Gate 00. Who is the caller? A presented credential must be valid, even where none is required.
 * Tokens are read before the gates, since verifying them is the only asynchronous step. 400
 * malformed identifiers · 401 an unknown agent, a certificate or token of another · 501 a
 * Delegation-Chain · 551 an invalid delegation token; a valid one vouches for an agent that only
 * the peer knows.   AGTP "Request Headers", "Authorization", "DELEGATE"; AGTP-CERT "Validation"
 */
import type { AgentDirectory } from "../../identity/agent-directory.ts";
import {
  agentFault,
  bindingFault,
  type TokenVerdict,
  type TokenVerifier,
} from "../../identity/bearer-syntax.ts";
import type { ClientCertificate } from "../../identity/client-certificate.ts";
import { isOpaqueId, isOwnerId, isRequestId } from "../../identity/identifiers.ts";
import { ANONYMOUS, type Caller } from "../caller/caller.ts";
import {
  boundAgentId,
  type CallerResolver,
  claimedAuthority,
  createCallerResolver,
  type Resolution,
} from "../caller/caller-resolver.ts";
import type { CallerState } from "../caller/caller-state.ts";
import type { Delegation, DelegationReader } from "../caller/delegation.ts";
import { isOneRevoked, shownCertificates } from "../caller/shown-certificates.ts";
import type { Exchange } from "../exchange.ts";
import type { IdentityConfig } from "../policy/policies-section.ts";
import {
  agentUnauthenticated,
  badRequest,
  certificateRevoked,
  notImplemented,
  type Refusal,
} from "../refusals/refusal.ts";
import type { Gate } from "./gate.ts";

/** Reads the tokens of a request into the exchange; returns a promise only if that takes time. */
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

/** Tells whether a request may carry a peer's delegation: only `DELEGATE /` may. */
function mayHandOn({ method, path }: Exchange): boolean {
  return method === "DELEGATE" && path === "/";
}

/** Reads the bearer token; returns a promise only for a token that is not cached. */
function readToken(exchange: Exchange, tokens: TokenVerifier): Promise<void> | undefined {
  const authorization = exchange.header("authorization");
  if (authorization === undefined) return undefined;
  const known = tokens.recall(authorization);
  if (known !== undefined) return void adopt(exchange, known);
  return tokens.verify(authorization).then((verdict) => adopt(exchange, verdict));
}

function adopt(exchange: Exchange, verdict: TokenVerdict): void {
  if (verdict.kind === "invalid") {
    exchange.tokenFault = verdict.reason;
    return;
  }
  const { certificate, speaksAs } = exchange.peer;
  // The HTTP side speaks as its own agent for every principal, so the token need not name it.
  const asking = speaksAs === undefined ? exchange.header("agent-id") : undefined;
  exchange.tokenFault = bindingFault(verdict, certificate) ?? agentFault(verdict, asking);
  if (exchange.tokenFault !== undefined) return;
  exchange.principalId = verdict.principalId;
  exchange.tokenScopes = verdict.scopes;
}

interface CallerGateOptions {
  readonly directory: AgentDirectory;
  readonly policy: IdentityConfig;
  readonly certificates: CallerState["certificates"];
}

/** Identifies the caller among this server's agents, or by the peer that vouches for it. */
export function callerGate({ directory, policy, certificates }: CallerGateOptions): Gate {
  const { unknownTrustTier } = policy;
  const resolve = createCallerResolver(directory, policy);
  const context = { certificates, resolve, unknownTrustTier };
  return (exchange) => {
    const fault = checkIdentifiers(exchange) ?? checkCredentials(exchange);
    if (fault !== undefined) return fault;
    const agentId = exchange.header("agent-id");
    if (agentId !== undefined) return identify(exchange, agentId, context);
    const { principalId, peer } = exchange;
    if (principalId !== undefined || peer.certificate !== undefined) {
      const certifiedAs = peer.certificate && boundAgentId(directory, peer.certificate);
      exchange.caller = { ...ANONYMOUS, principalId, certifiedAs };
    }
    return refuseRevoked(exchange, certificates);
  };
}

/** Checks again whether the certificates of the caller and of its delegators were revoked. */
export function revocationGate(certificates: CallerState["certificates"]): Gate {
  return (exchange) =>
    isOneRevoked(shownCertificates(exchange), certificates)
      ? certificateRevoked()
      : refuseRevoked(exchange, certificates);
}

/** Refuses an agent's revoked certificate even if the request names no agent; it may be an operator's too. */
function refuseRevoked(
  { peer: { certificate }, caller }: Exchange,
  certificates: CallerState["certificates"],
): Refusal | undefined {
  const { agentId = caller.certifiedAs } = caller;
  if (certificate === undefined || agentId === undefined) return undefined;
  return certificates.isRevoked(certificate, agentId) ? certificateRevoked() : undefined;
}

interface Context extends Pick<CallerGateOptions, "certificates"> {
  readonly resolve: CallerResolver;
  readonly unknownTrustTier: number;
}

/** Checks the syntax of the identifier headers that are present.   AGTP "Identifier Formats" */
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

/** Refuses an invalid credential, even where none is required. */
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

/** Resolves an agent that its own server vouches for, with the delegated scopes and no others. */
function vouched(agentId: string, delegation: Delegation, trustTier: number): Resolution {
  const { scopes = [] } = delegation.links.at(-1) ?? {};
  const authority = claimedAuthority(scopes);
  const caller: Caller = { ...ANONYMOUS, agentId, authority, trustTier, delegation };
  return { caller, refusal: undefined };
}

/** Sets the caller as soon as it is known, so that later refusals are recorded as its own. */
function identify(exchange: Exchange, agentId: string, context: Context): Refusal | undefined {
  const { certificate } = exchange.peer;
  const { delegation, tokenScopes: scopes } = exchange;
  if (delegation !== undefined && "kind" in delegation) return delegation;
  const resolution =
    delegation === undefined
      ? context.resolve(
          agentId,
          exchange.header("authority-scope"),
          scopes === undefined ? exchange.peer : { ...exchange.peer, scopes },
        )
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
      : { ...caller, ownerId: ownerOf(caller, ownerId), principalId };
  exchange.isNamed = true;
  exchange.claimRefusal = resolution.refusal;
  return undefined;
}

/** Returns the owner; a header is only a claim, which cannot override a certified agent's owner. */
function ownerOf(
  { ownerId, document, isCertified }: Caller,
  claimed: string | undefined,
): string | undefined {
  if (ownerId !== undefined || claimed === undefined) return ownerId;
  return isCertified ? (document?.ownerId ?? claimed) : claimed;
}

function checkCertificate(
  certificate: ClientCertificate,
  agentId: string,
  ownerId: string | undefined,
  certificates: CallerState["certificates"],
): Refusal | undefined {
  if (certificates.isRevoked(certificate, agentId)) return certificateRevoked();
  const owner = certificate.agent?.ownerId;
  if (owner !== undefined && ownerId !== undefined && owner !== ownerId) {
    const message = "the Owner-ID is not the one that the certificate names";
    return agentUnauthenticated(message, "certificate-mismatch");
  }
  return undefined;
}
