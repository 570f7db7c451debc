/**
 * Decides which of an agent's matters a caller may see. The agent of the HTTP side speaks for many
 * people, told apart by their tokens, and nobody may see another one's.   `[policies.oauth]`
 */
import { hash } from "node:crypto";
import type { QueryCaller } from "../module/query-source.ts";

/** A request of an agent, made for the principal of its token or for nobody in particular. */
interface Matter {
  readonly principalId?: string | undefined;
}

/**
 * Tells whether a caller may see a matter of its agent. An agent that speaks for itself sees all of
 * them; a matter without a principal is visible to everybody who speaks as the agent.
 */
export function isOwnMatter(
  { principalId }: Matter,
  { caller, peer }: Pick<QueryCaller, "caller" | "peer">,
): boolean {
  const isAnybodys = peer.speaksAs === undefined || principalId === undefined;
  return isAnybodys || caller.principalId === principalId;
}

/**
 * Returns the holder of a session besides its agent: the fingerprint of its certificate, or a
 * digest of the principal that the HTTP side speaks for; undefined if there is neither.   AGTP
 * "Sessions"
 */
export function sessionHolderOf({
  caller: { principalId },
  peer: { speaksAs, certificate },
}: Pick<QueryCaller, "caller" | "peer">): string | undefined {
  if (speaksAs === undefined || principalId === undefined) return certificate?.fingerprint;
  return `for ${hash("sha256", principalId)}`;
}
