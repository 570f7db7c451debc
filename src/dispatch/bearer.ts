/**
 * The one step before the gates that may have to wait: a bearer token that is not remembered is
 * verified, so that the gate of callers finds a principal, or why there is none.   AGTP "Authorization"
 */
import type { TokenVerdict, TokenVerifier } from "../identity/bearer-tokens.ts";
import type { Exchange } from "./exchange.ts";

/** Fills in what the request's token says; a promise only when that takes time. */
export function readToken(exchange: Exchange, tokens: TokenVerifier): Promise<void> | undefined {
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
