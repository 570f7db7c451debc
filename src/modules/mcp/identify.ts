/**
 * Identifies an MCP client: the agent that its token names, else the sidecar's agent for the token's principal, else,
 * if allowed, the sidecar's agent for anonymous clients. The client's other claims about itself are ignored. 401
 * without a token, and for an invalid one. Also the challenges for clients that need another token.   MCP
 * "Authorization", RFC 6750, RFC 9728
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { networkOf } from "../../base/addresses.ts";
import { textsIn } from "../../base/json-value.ts";
import type { TaskOwner } from "../../base/task-queue.ts";
import { spokenFor } from "../../dispatch/rates/rates.ts";
import {
  bindingFault,
  type TokenClaims,
  type TokenVerifier,
} from "../../identity/bearer-syntax.ts";
import type { Answer } from "./ask.ts";
import type { Challenge, McpCaller, McpFront, Protection } from "./front.ts";
import { bodyText, refusalWords } from "./tools/content.ts";

/** The parts of an HTTP request that identify its caller. */
interface Credentials {
  readonly authorization: string | undefined;
  readonly address: string;
  readonly port: number;
}

/** Returns the client, or the challenge for a client that needs a token. */
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
  // MCP clients present no certificate.
  const fault = verdict.kind === "invalid" ? verdict.reason : bindingFault(verdict, undefined);
  if (verdict.kind === "invalid" || fault !== undefined) {
    return unauthenticated("invalid_token", `the bearer token was not accepted: ${fault}`);
  }
  if (!isForUs(verdict, protection)) {
    const message = "the bearer token was not accepted: the token is for another audience";
    return unauthenticated("invalid_token", message);
  }
  if (verdict.agentId === null) {
    const message = "the bearer token was not accepted: the token names no usable agent";
    return unauthenticated("invalid_token", message);
  }
  return callerOf(front, credentials, verdict);
}

/** True if an admitted client would be admitted again now, as the same caller. */
export async function isAdmitted(
  front: McpFront,
  { fields, peer, key }: McpCaller,
): Promise<boolean> {
  const { address, port } = peer;
  const again = await identify(front, {
    authorization: fields.get("authorization"),
    address,
    port,
  });
  return "key" in again && again.key === key;
}

/** A configured audience was checked with the signature.   RFC 8707 */
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
 * Returns the account that pays for a message before its caller is identified: verifying an unknown token is charged
 * to the client's address.
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
    key: `${agentId} ${claims === undefined ? `at ${networkOf(address)}` : `for ${claims.principalId}`}`,
  };
}

/** Codes of 262 that a further scope lifts. */
const SCOPE_CODES: ReadonlySet<string> = new Set(["scope-required", "scope-claim-invalid"]);

/**
 * Challenges for refusals that another token may lift: HTTP carries them, with the data that clients need to get one.
 * Without an issuer of tokens they are ordinary refusals.
 * 401 nobody vouches for the caller · 403 its scopes do not reach.   RFC 6750 §3, RFC 9728 §5.1
 */
export function challengeFor(
  protection: Protection | undefined,
  { response, exchange }: Answer,
): Challenge | undefined {
  const { status } = response;
  if (protection === undefined || ![401, 262, 455].includes(status)) return undefined;
  const { code, message, error } = refusalWords(bodyText(response));
  const isPresent = exchange.caller.principalId !== undefined;
  if (status === 401 || code === "credentials-missing") {
    const fault = code === "oauth-invalid" || isPresent ? ("invalid_token" as const) : undefined;
    return { status: 401, error: fault, message, scopes: [] };
  }
  if (status === 262 && !SCOPE_CODES.has(code)) return undefined;
  // The call's complete scopes: some clients request a token for exactly these.
  const { route, partScopes = [] } = exchange;
  const missing = textsIn(error["missing_scopes"]);
  const scopes = [...new Set([...(route?.requiredScopes ?? []), ...partScopes, ...missing])];
  // A client without a token is asked for one, with the scopes it needs.
  if (!isPresent) return { status: 401, error: undefined, message, scopes };
  return { status: 403, error: "insufficient_scope", message, scopes };
}

/** Formats the WWW-Authenticate field of a challenge. */
export function challengeField(
  { error, message, scopes }: Challenge,
  protection: Protection | undefined,
): string {
  const metadata = protection?.metadataUrl();
  const parameters = [
    ...(error === undefined ? [] : [`error="${error}"`, `error_description="${plain(message)}"`]),
    ...(scopes.length === 0 ? [] : [`scope="${scopes.join(" ")}"`]),
    ...(metadata === undefined ? [] : [`resource_metadata="${metadata}"`]),
  ];
  return parameters.length === 0 ? "Bearer" : `Bearer ${parameters.join(", ")}`;
}

/** Replaces characters that a quoted string of this field cannot contain. */
function plain(text: string): string {
  return text.replaceAll(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "'");
}

/** Path of resource metadata, before the path of the resource. */
export const METADATA_PREFIX = "/.well-known/oauth-protected-resource";

/**
 * The metadata of the MCP endpoint as a protected resource: the issuer of its tokens, and the scopes of its tools.
 * Anyone may read it, from any origin.   RFC 9728
 */
export function createMetadataApi(
  protectionOf: () => Protection | undefined,
  name: string,
): (app: FastifyInstance) => void {
  return (app) => {
    app.route({
      method: ["GET", "HEAD"],
      url: "/",
      handler: (_request, reply) => {
        const protection = protectionOf();
        if (protection === undefined) return reply.callNotFound();
        return reply
          .header("content-type", "application/json")
          .header("access-control-allow-origin", "*")
          .header("cache-control", "public, max-age=300")
          .send(JSON.stringify(documentOf(protection, name)));
      },
    });
  };
}

function documentOf({ issuer, scopes, resource }: Protection, name: string): object {
  return {
    resource: resource(),
    authorization_servers: [issuer],
    bearer_methods_supported: ["header"],
    ...(scopes.length === 0 ? {} : { scopes_supported: scopes }),
    resource_name: name,
  };
}
