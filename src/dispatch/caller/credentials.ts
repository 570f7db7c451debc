/**
 * Reads the credentials that take time: a bearer token, and the token with which a peer vouches for
 * an agent. The one step before the gates that may have to wait; the gate of callers finds what
 * they say, or why they prove nothing.   AGTP "Authorization", AGTP "DELEGATE"
 */
import type { TokenVerdict, TokenVerifier } from "../../identity/bearer-tokens.ts";
import type { Exchange } from "../exchange.ts";
import type { DelegationReader } from "./delegation.ts";

/** Fills in what the tokens of a request say; a promise only when that takes time. */
export function readCredentials(
  exchange: Exchange,
  tokens: TokenVerifier | undefined,
  delegations: DelegationReader | undefined,
): Promise<void> | undefined {
  const bearer = tokens === undefined ? undefined : readToken(exchange, tokens);
  const delegation = delegations?.read(exchange.request);
  if (delegation === undefined) return bearer;
  return Promise.all([delegation, bearer]).then(([read]) => {
    exchange.delegation = read;
  });
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
