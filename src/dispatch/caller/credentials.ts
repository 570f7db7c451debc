/**
 * Reads the tokens of a request before any gate is asked: the one step that may have to wait. Gate 00 finds
 * what they say, or why they prove nothing.   AGTP "Authorization", "DELEGATE"; RFC 8705 §3
 */
import {
  bindingFault,
  type TokenVerdict,
  type TokenVerifier,
} from "../../identity/bearer-syntax.ts";
import type { Exchange } from "../exchange.ts";
import type { DelegationReader } from "./delegation.ts";

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
  if (verdict.kind === "invalid") {
    exchange.tokenFault = verdict.reason;
    return;
  }
  exchange.tokenFault = bindingFault(verdict, exchange.peer.certificate);
  if (exchange.tokenFault !== undefined) return;
  exchange.principalId = verdict.principalId;
  exchange.tokenScopes = verdict.scopes;
}
