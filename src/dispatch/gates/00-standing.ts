/**
 * Gate 00. Who is asking, is what they say of themselves true, and may they act now?
 * 400 malformed identifiers · 401 an unknown agent, a certificate, token or session that is not the
 * agent's own · 262 a scope claim the document does not grant · 455 and 457 a claim beyond the
 * certificate · 503 a suspended agent · 410 a retired one · 501 a Delegation-Chain · 551 a delegation
 * token that does not hold; one that does vouches for an agent that only the peer knows.
 * AGTP "Request Headers", "Authority Scope", "Agent Lifecycle"; AGTP-CERT "Validation"
 */
import type { IdentityConfig } from "../../config/config.ts";
import type { AgentDirectory } from "../../identity/agent-directory.ts";
import type { AgentDocument, AgentStatus } from "../../identity/agent-document.ts";
import type { ClientCertificate } from "../../identity/client-certificate.ts";
import { isOpaqueId, isOwnerId, isRequestId } from "../../identity/identifiers.ts";
import type { SessionUser } from "../../identity/session-register.ts";
import { ANONYMOUS, type Caller } from "../caller.ts";
import {
  type CallerResolver,
  claimedAuthority,
  createCallerResolver,
  type Resolution,
} from "../caller-resolver.ts";
import type { Delegation } from "../delegation.ts";
import type { Exchange } from "../exchange.ts";
import type { MethodPolicy } from "../method-policy.ts";
import {
  agentRetired,
  agentSuspended,
  agentUnauthenticated,
  badRequest,
  notImplemented,
  type Refusal,
  zoneViolation,
} from "../refusal.ts";
import type { Gate } from "./gate.ts";

/** Where agents, sessions and certificates stand while the server runs. */
export interface Standing {
  statusOf(agent: AgentDocument): AgentStatus;
  /** When the agent came to its status; RFC 3339. */
  statusSince(agent: AgentDocument): string | undefined;
  isRevoked(certificate: ClientCertificate, agentId: string): boolean;
  admitSession(sessionId: string, user: SessionUser): boolean;
}

/** Where agents alone stand. */
export type LifecycleStanding = Pick<Standing, "statusOf" | "statusSince">;

export interface StandingOptions {
  readonly directory: AgentDirectory;
  readonly policy: IdentityConfig;
  readonly methodPolicy: Pick<MethodPolicy, "alias">;
  readonly standing: Standing;
}

/** Methods that an agent which may not act can still call: how else would it come back? */
const EXEMPT: ReadonlySet<string> = new Set([
  ...["ACTIVATE", "DEACTIVATE", "REINSTATE", "REVOKE", "DEPRECATE"],
  ...["INSPECT", "DESCRIBE", "DISCOVER"],
]);

/** Whether the method is answered whatever the caller's state. */
export function isExemptFromLifecycle(method: string): boolean {
  return EXEMPT.has(method);
}

/** Gate 00 over the agents this server knows. */
export function standingGate({ directory, policy, methodPolicy, standing }: StandingOptions): Gate {
  const resolve = createCallerResolver(directory, policy);
  const parts = { resolve, standing, unknownTrustTier: policy.unknownTrustTier };
  return (exchange) => {
    const fault = checkIdentifiers(exchange) ?? checkCredentials(exchange);
    if (fault !== undefined) return fault;
    const agentId = exchange.header("agent-id");
    if (agentId === undefined) return admitNobody(exchange, standing);
    const refusal = identify(exchange, agentId, parts);
    if (refusal !== undefined) return refusal;
    exchange.lapse = lapseOf(exchange.caller.document ?? directory.find(agentId), standing);
    if (exchange.lapse === undefined) return undefined;
    const { method } = exchange.request;
    const resolved = methodPolicy.alias(method)?.method ?? method;
    return isExemptFromLifecycle(resolved) ? undefined : exchange.lapse;
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

/** A caller that names no agent has no session, and takes none over. */
function admitNobody(exchange: Exchange, standing: Standing): Refusal | undefined {
  const { sessionId, principalId } = exchange;
  if (sessionId !== undefined && !mayUseSession(exchange, ANONYMOUS, sessionId, standing)) {
    return sessionMismatch();
  }
  if (principalId !== undefined) exchange.caller = { ...ANONYMOUS, principalId };
  return undefined;
}

interface IdentityParts {
  readonly resolve: CallerResolver;
  readonly standing: Standing;
  readonly unknownTrustTier: number;
}

/** Sets the caller as soon as it is known who it is: its refusals are its own from there on. */
function identify(
  exchange: Exchange,
  agentId: string,
  { resolve, standing, unknownTrustTier }: IdentityParts,
): Refusal | undefined {
  const { certificate } = exchange.peer;
  const { delegation } = exchange;
  if (delegation !== undefined && "kind" in delegation) return delegation;
  const resolution =
    delegation === undefined
      ? resolve(agentId, exchange.header("authority-scope"), certificate)
      : vouched(agentId, delegation, unknownTrustTier);
  if ("kind" in resolution) return resolution;
  const { caller } = resolution;
  const ownerId = exchange.header("owner-id");
  if (certificate !== undefined) {
    const refusal = checkCertificate(certificate, agentId, ownerId, standing);
    if (refusal !== undefined) return refusal;
  }
  const { sessionId, principalId } = exchange;
  if (sessionId !== undefined && !mayUseSession(exchange, caller, sessionId, standing)) {
    return sessionMismatch();
  }
  exchange.caller =
    ownerId === undefined && principalId === undefined
      ? caller
      : { ...caller, ownerId: ownerId ?? caller.ownerId, principalId };
  return checkZone(exchange) ?? resolution.refusal;
}

function checkCertificate(
  certificate: ClientCertificate,
  agentId: string,
  ownerId: string | undefined,
  standing: Standing,
): Refusal | undefined {
  if (standing.isRevoked(certificate, agentId)) {
    return agentUnauthenticated("the client certificate was revoked", "certificate-revoked");
  }
  const owner = certificate.agent?.ownerId;
  if (owner !== undefined && ownerId !== undefined && owner !== ownerId) {
    const message = "the Owner-ID is not the one that the certificate names";
    return agentUnauthenticated(message, "certificate-mismatch");
  }
  return undefined;
}

/** An agent that names no zone stays in its own.   AGTP-CERT "Governance Zone" */
function checkZone(exchange: Exchange): Refusal | undefined {
  const zone = exchange.peer.certificate?.agent?.governanceZone;
  const asked = exchange.header("agtp-zone-id");
  if (zone === undefined || asked === undefined || zone === asked) return undefined;
  return zoneViolation("the AGTP-Zone-ID is not the governance zone of the certificate");
}

/** A stranger's sessions are not kept; it may not take over those that are.   AGTP "Sessions" */
export function mayUseSession(
  { peer }: Exchange,
  { agentId, document }: Caller,
  sessionId: string,
  standing: Pick<Standing, "admitSession">,
): boolean {
  const tlsIdentity = peer.certificate?.fingerprint;
  return standing.admitSession(sessionId, {
    agentId,
    tlsIdentity,
    isHosted: document !== undefined,
  });
}

/** 401: the session is another agent's, or came over another TLS identity. */
export function sessionMismatch(): Refusal {
  return agentUnauthenticated("the Session-ID is in use by somebody else", "session-mismatch");
}

/** Why an agent may not act now; undefined when it may. */
export function lapseOf(
  document: AgentDocument | undefined,
  standing: LifecycleStanding,
): Refusal | undefined {
  if (document === undefined) return undefined;
  const status = standing.statusOf(document);
  if (status === "suspended") return agentSuspended(document.agentId);
  if (status === "retired") return agentRetired(document.agentId, standing.statusSince(document));
  return undefined;
}
