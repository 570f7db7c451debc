/**
 * Whose matters of an agent a caller is told. The agent that the HTTP side speaks as is many people's, whom
 * their tokens tell apart: what was asked for one of them is nothing to another.   `[policies.oauth]`
 */
import { hash } from "node:crypto";
import type { QueryCaller } from "../module/query-source.ts";

/** Something that an agent asked for, for a principal of its token or for nobody in particular. */
interface Matter {
  readonly principalId?: string | undefined;
}

/**
 * Tells whether a caller of the same agent is told of it. An agent that speaks for itself is told all, and what was
 * asked for nobody in particular is everybody's who speaks as the agent.
 */
export function isOwnMatter(
  { principalId }: Matter,
  { caller, peer }: Pick<QueryCaller, "caller" | "peer">,
): boolean {
  const isAnybodys = peer.speaksAs === undefined || principalId === undefined;
  return isAnybodys || caller.principalId === principalId;
}

/**
 * The holder of a session beside its agent: the certificate that it came with, by its fingerprint, or the principal
 * whom the HTTP side speaks for, by a digest; undefined: neither.   AGTP "Sessions"
 */
export function sessionHolderOf({
  caller: { principalId },
  peer: { speaksAs, certificate },
}: Pick<QueryCaller, "caller" | "peer">): string | undefined {
  if (speaksAs === undefined || principalId === undefined) return certificate?.fingerprint;
  return `for ${hash("sha256", principalId)}`;
}
