/**
 * Admits tasks that arrive from a peer: the request's token names the delegating agent, and the peer vouches for it.
 * Tokens are checked before the gates, only in requests that carry one. 551 with the failing link · 262 for scopes
 * that the peer may not use.   AGTP "DELEGATE"
 */

import { given, type JsonRecord } from "../../base/json-value.ts";
import type { Delegation, DelegationReader } from "../../dispatch/caller/delegation.ts";
import {
  type BrokenLink,
  chainBroken,
  delegationFailed,
} from "../../dispatch/refusals/delegation-refusals.ts";
import type { Refusal } from "../../dispatch/refusals/refusal.ts";
import { parseBody, unwrapEnvelope } from "../../endpoint/input.ts";
import type { Request } from "../../wire/message.ts";
import { type ChainRules, type VerifiedChain, verifyTokens } from "./chain.ts";
import { taskHash } from "./request.ts";
import { refuseScopes } from "./scopes.ts";
import type { SeenTokens } from "./token.ts";

interface ArrivalRules extends ChainRules {
  readonly seen: Pick<SeenTokens, "take">;
}

const MARK = Buffer.from('"delegation_token"');
/** How long a taken token is remembered past its deadline: more than clocks may differ. */
const REMEMBERED_MS = 60_000;

/** Reads the delegation tokens of requests. */
export function createArrivals(rules: ArrivalRules): DelegationReader {
  return {
    read: (request) => {
      const { method, body } = request;
      // Peers do not escape this name; the handler refuses a request that does.
      if (!Buffer.from(body.buffer, body.byteOffset, body.length).includes(MARK)) return undefined;
      const parsed = parseBody(body);
      if (parsed.kind === "invalid") return undefined;
      const { parameters } = unwrapEnvelope(parsed.value, method);
      if (!Object.hasOwn(parameters, "delegation_token")) return undefined;
      return arrive(rules, parameters, request);
    },
  };
}

async function arrive(
  rules: ArrivalRules,
  parameters: JsonRecord,
  request: Request,
): Promise<Delegation | Refusal> {
  const tokens = tokensOf(parameters);
  if (tokens === undefined) {
    const explanation = "delegation_token and delegation_chain must be signed tokens";
    return chainBroken("malformed", explanation, { index: 0 });
  }
  const chain = await verifyTokens(tokens, rules);
  if (chain.kind === "refusal") return chain;
  const { links, last } = chain;
  const fault = checkRequest(chain, parameters, request) ?? checkPeer(rules, chain);
  if (fault !== undefined) return fault;
  const now = rules.now();
  if (last.deadline <= now) {
    return delegationFailed("deadline", "the deadline of the task has passed", "not-begun");
  }
  const { issuer, id, deadline } = last;
  switch (await rules.seen.take(issuer, id, deadline + REMEMBERED_MS)) {
    case "fresh":
      return { links, deadline, isArriving: true, ...given({ zone: chain.zone }) };
    case "seen":
      return broken("replayed", "the delegation token was used before", chain);
    case "full":
      return delegationFailed("too-many-running", "the peer has sent too many tasks", "not-begun");
  }
}

function tokensOf(parameters: JsonRecord): readonly string[] | undefined {
  const { delegation_token: token, delegation_chain: earlier = [] } = parameters;
  const tokens: readonly unknown[] = Array.isArray(earlier) ? [...earlier, token] : [undefined];
  return tokens.every((one) => typeof one === "string") ? tokens : undefined;
}

/** Checks that the token is for this caller, target and task. */
function checkRequest(
  chain: VerifiedChain,
  parameters: JsonRecord,
  request: Request,
): Refusal | undefined {
  const { subject, target, taskHash: hash } = chain.last;
  if (request.headers.get("agent-id") !== subject) {
    return broken("subject", "the delegation token is another agent's", chain);
  }
  if ((parameters["target_agent_id"] ?? parameters["sub_agent"]) !== target) {
    return broken("subject", "the delegation token is to another agent", chain);
  }
  if (taskHash(parameters["task"]) !== hash) {
    return broken("task", "the delegation token is for another task", chain);
  }
  return undefined;
}

/** 262: the scopes must be among those that the operator accepts from the peer. */
function checkPeer({ peers }: ArrivalRules, chain: VerifiedChain): Refusal | undefined {
  const { last } = chain;
  const peer = peers.findByServerId(last.issuer);
  // A token that this server signed is for hops within it and brings no task in.
  if (peer === undefined) return broken("unknown-issuer", "the token is not from a peer", chain);
  const invalid = last.scopes.filter((scope) => !peer.accepted.covers(scope));
  return invalid.length === 0
    ? undefined
    : refuseScopes(`tasks of the peer "${peer.name}" may not use`, invalid);
}

function broken(reason: BrokenLink, explanation: string, { links, last }: VerifiedChain): Refusal {
  return chainBroken(reason, explanation, {
    index: links.length - 1,
    server_id: last.issuer,
    agent_id: last.subject,
    target_agent_id: last.target,
  });
}
