/**
 * Gate 00. Who is asking, is what they say of themselves true, and may they act now?
 * 400 malformed identifiers · 401 an unknown agent, a certificate, token or session that is not the
 * agent's own · 262 a scope claim the document does not grant · 455 and 457 a claim beyond the
 * certificate · 503 a suspended agent · 410 a retired one · 409 and 408 a session that is suspended or
 * over · 501 a Delegation-Chain · 551 a delegation token that does not hold; one that does vouches for
 * an agent that only the peer knows.
 * AGTP "Request Headers", "Authority Scope", "Agent Lifecycle"; AGTP-CERT "Validation"
 */
import type { IdentityConfig } from "../../base/config.ts";
import type { AgentDirectory } from "../../identity/agent-directory.ts";
import type { AgentDocument, AgentStatus } from "../../identity/agent-document.ts";
import type { ClientCertificate } from "../../identity/client-certificate.ts";
import { isOpaqueId, isOwnerId, isRequestId } from "../../identity/identifiers.ts";
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
import { refuseSession, type SessionStanding } from "../session-use.ts";
import type { TaskStanding } from "../task-pause.ts";
import type { Gate } from "./gate.ts";

/** Where agents, sessions, tasks and certificates stand while the server runs. */
export interface Standing extends SessionStanding, TaskStanding {
  statusOf(agent: AgentDocument): AgentStatus;
  /** When the agent came to its status; RFC 3339. */
  statusSince(agent: AgentDocument): string | undefined;
  isRevoked(certificate: ClientCertificate, agentId: string): boolean;
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
export function standingGate(options: StandingOptions): Gate {
  const { directory, policy, methodPolicy, standing } = options;
  const { unknownTrustTier } = policy;
  const resolve = createCallerResolver(directory, policy);
  const context = { methodPolicy, standing, resolve, unknownTrustTier };
  return (exchange) => {
    const fault = checkIdentifiers(exchange) ?? checkCredentials(exchange);
    if (fault !== undefined) return fault;
    const agentId = exchange.header("agent-id");
    if (agentId === undefined) return admitNobody(exchange, context);
    const refusal = identify(exchange, agentId, context);
    if (refusal !== undefined) return refusal;
    exchange.lapse = lapseOf(exchange.caller.document ?? directory.find(agentId), standing);
    if (exchange.lapse === undefined) return undefined;
    return isExemptFromLifecycle(resolvedMethod(exchange, context)) ? undefined : exchange.lapse;
  };
}

interface Context extends Pick<StandingOptions, "methodPolicy" | "standing"> {
  readonly resolve: CallerResolver;
  readonly unknownTrustTier: number;
}

/** What gate 01 will make of the method. */
function resolvedMethod({ request: { method } }: Exchange, { methodPolicy }: Context): string {
  return methodPolicy.alias(method)?.method ?? method;
}

function checkSession(exchange: Exchange, caller: Caller, context: Context): Refusal | undefined {
  const { sessionId } = exchange;
  if (sessionId === undefined) return undefined;
  const use = { sessionId, method: resolvedMethod(exchange, context) };
  return refuseSession(exchange, caller, use, context.standing);
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
function admitNobody(exchange: Exchange, context: Context): Refusal | undefined {
  const { principalId } = exchange;
  const refusal = checkSession(exchange, ANONYMOUS, context);
  if (refusal !== undefined) return refusal;
  if (principalId !== undefined) exchange.caller = { ...ANONYMOUS, principalId };
  return undefined;
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
    const refusal = checkCertificate(certificate, agentId, ownerId, context.standing);
    if (refusal !== undefined) return refusal;
  }
  const { principalId } = exchange;
  const held = checkSession(exchange, caller, context);
  if (held?.status === 401) return held;
  exchange.caller =
    ownerId === undefined && principalId === undefined
      ? caller
      : { ...caller, ownerId: ownerId ?? caller.ownerId, principalId };
  return held ?? checkZone(exchange) ?? resolution.refusal;
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
