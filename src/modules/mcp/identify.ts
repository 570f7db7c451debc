/**
 * Identifies an MCP client: the agent that its token names, else the sidecar's agent for the
 * token's principal, else, where that is allowed, the sidecar's agent for anybody. What the client
 * says of itself beside the token is not looked at. 401 without a token, and for one that does not
 * hold. MCP "Authorization", RFC 6750
 */
import type { FastifyRequest } from "fastify";
import type { TaskOwner } from "../../base/task-queue.ts";
import { spokenFor } from "../../dispatch/rates/rates.ts";
import type { TokenClaims, TokenVerifier } from "../../identity/bearer-syntax.ts";
import type { Challenge, McpCaller, McpFront, Protection } from "./front.ts";

/** The parts of an HTTP request that tell its caller. */
interface Credentials {
  readonly authorization: string | undefined;
  readonly address: string;
  readonly port: number;
}

/** The client, or why it must come back with a token. */
export async function identify(
  front: McpFront,
  credentials: Credentials,
): Promise<McpCaller | Challenge> {
  const { authorization } = credentials;
  const { tokens, protection } = front;
  if (authorization === undefined || tokens === undefined) {
    if (front.isAnonymousServed) return callerOf(front, credentials, undefined);
    return unauthenticated(undefined, "this server needs a bearer token");
  }
  const verdict = tokens.recall(authorization) ?? (await tokens.verify(authorization));
  if (verdict.kind === "invalid") {
    const message = `the bearer token was not accepted: ${verdict.reason}`;
    return unauthenticated("invalid_token", message);
  }
  if (!isForUs(verdict, protection)) {
    const message = "the bearer token was not accepted: the token is for another audience";
    return unauthenticated("invalid_token", message);
  }
  return callerOf(front, credentials, verdict);
}

/** An audience that is configured was checked with the signature.   RFC 8707 */
function isForUs({ audiences = [] }: TokenClaims, protection: Protection | undefined): boolean {
  if (protection === undefined || protection.audience !== undefined) return true;
  const resource = protection.resource();
  return resource !== undefined && audiences.some((one) => withoutSlash(one) === resource);
}

function withoutSlash(text: string): string {
  return text.endsWith("/") ? text.slice(0, -1) : text;
}

function unauthenticated(error: "invalid_token" | undefined, message: string): Challenge {
  return { status: 401, error, message, scopes: [] };
}

/**
 * Whose account a message is on, before anybody is identified: a token that is not known yet is judged
 * at the expense of the address that it comes from.
 */
export function payerOfMessage(
  tokens: Pick<TokenVerifier, "recall"> | undefined,
  { headers: { authorization }, socket }: Pick<FastifyRequest, "headers" | "socket">,
): TaskOwner {
  const verdict = authorization === undefined ? undefined : tokens?.recall(authorization);
  const principalId = verdict?.kind === "valid" ? verdict.principalId : undefined;
  return spokenFor(principalId, socket.remoteAddress ?? "");
}

function callerOf(
  { agent, isAgentIssued }: McpFront,
  { authorization, address, port }: Credentials,
  claims: TokenClaims | undefined,
): McpCaller {
  const agentId = claims?.agentId ?? agent.agentId;
  const isOwnAgent = agentId === agent.agentId;
  const fields = new Map([["agent-id", agentId]]);
  if (isOwnAgent && agent.ownerId !== undefined) fields.set("owner-id", agent.ownerId);
  if (claims !== undefined && authorization !== undefined) {
    fields.set("authorization", authorization);
  }
  return {
    fields,
    peer: {
      ...{ address, port, speaksAs: agentId, isAnybody: isOwnAgent && isAgentIssued },
      ...(claims?.scopes === undefined ? {} : { scopes: claims.scopes }),
    },
    key: claims === undefined ? `${agentId} at ${address}` : `${agentId} for ${claims.principalId}`,
  };
}
