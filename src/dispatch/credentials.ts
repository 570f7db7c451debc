/**
 * Reads the credentials that take time, before the gates: a bearer token, and the token with which
 * a peer vouches for an agent. The gate of callers finds what they say, or why they prove nothing.
 * AGTP "Authorization", AGTP "DELEGATE"
 */
import type { TokenVerifier } from "../identity/bearer-tokens.ts";
import { readToken } from "./bearer.ts";
import type { DelegationReader } from "./delegation.ts";
import type { Exchange } from "./exchange.ts";

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
