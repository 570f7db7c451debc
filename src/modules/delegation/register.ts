/**
 * Delegations with a callback: accepted with 202, each is stored until its outcome has been delivered and for a day
 * after, so both survive the end of the process and can be queried. A task that was running then is not run again; its
 * outcome is unknown.   AGTP "DELEGATE"
 */
import type { ForwardClock } from "../../base/forward-clock.ts";
import type { JsonRecord } from "../../base/json-value.ts";
import { seesAll } from "../../dispatch/caller/caller.ts";
import type { PriorAction } from "../../dispatch/caller/delegation.ts";
import { isOwnMatter } from "../../dispatch/caller/own-matter.ts";
import { notFound, refuseUncovered } from "../../dispatch/refusals/refusal.ts";
import { floorResult } from "../../dispatch/routes/floor.ts";
import type { ProtocolEndpoint } from "../../dispatch/routes/protocol-endpoint.ts";
import type { ExchangeView } from "../../dispatch/routes/route.ts";
import type { RunKind } from "../../runs/run-kind.ts";
import { openRegister, type RunRegister } from "../../runs/run-register.ts";
import type { Holders } from "../../state/holders.ts";
import { recordReader } from "../../state/records/stored-record.ts";
import type { ShownCertificate } from "../../state/registers/certificate-register.ts";
import type { ServerState } from "../../state/state.ts";
import type { Store } from "../../state/store.ts";
import { isDone } from "../../wire/message.ts";
import type { Outcome } from "./outcome.ts";
import { RecentRuns } from "./recent-runs.ts";
import type { Callback } from "./request.ts";
import { SeenTokens } from "./token.ts";

export interface KeptDelegation {
  readonly id: string;
  /** The delegating agent, which gets the outcome under the authority that it had then. */
  readonly agentId: string;
  /** The principal of the delegating request's token. */
  readonly principalId?: string;
  readonly scopes: readonly string[];
  /** The certificate of the delegating request. Absent in records of earlier versions, as is `handedOn`. */
  readonly shown?: readonly ShownCertificate[];
  readonly handedOn?: readonly string[];
  readonly target: string;
  readonly action: string;
  readonly taskId?: string;
  readonly callback: Callback;
  /** Undefined while it runs. */
  readonly outcome?: KeptOutcome;
  /** Undefined until the outcome is delivered or its delivery is given up. */
  readonly delivery?: Delivery;
}

interface Delivery {
  readonly isDelivered: boolean;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** The message to deliver, and the actions that its record depends on. */
export interface KeptOutcome {
  readonly status: number;
  readonly body: JsonRecord;
  readonly priorActions: readonly PriorAction[];
}

/** How long an outcome can be queried after its delivery. */
const KEPT_MS = 24 * 3_600_000;

/** Outcomes that await delivery are not evicted. */
const KIND: RunKind<KeptDelegation, "running" | "ended" | "told"> = {
  name: "delegations",
  read: recordReader<KeptDelegation>({ id: "string", agentId: "string" }),
  statuses: {
    running: { phase: "active", next: ["ended"] },
    ended: { phase: "waiting", next: ["told"] },
    told: { phase: "over", next: [], rank: 0 },
  },
  statusOf: ({ outcome, delivery }) => {
    if (delivery !== undefined) return "told";
    return outcome === undefined ? "running" : "ended";
  },
  forgottenAt: ({ delivery }) =>
    delivery === undefined ? Number.POSITIVE_INFINITY : delivery.at + KEPT_MS,
  idOf: ({ id }) => id,
  ownerOf: ({ agentId }) => agentId,
  quota: {
    ...{ openPerOwner: 32, perOwner: 128, charactersPerOwner: 8_388_608 },
    ...{ open: 1_024, all: 4_096, characters: 67_108_864 },
  },
};

/** The delegations that are running or have recently ended. */
export type DelegationRegister = RunRegister<KeptDelegation>;

/** Opens the register of a store. */
export function openDelegationRegister(
  store: Store,
  holders: Holders,
): Promise<DelegationRegister> {
  return openRegister(store, KIND, { holders });
}

export type Perform = () => Promise<Outcome>;

interface DelegationState {
  readonly runs: RecentRuns;
  readonly register: DelegationRegister;
  /** Tasks that this process has accepted and not begun, by delegation id. */
  readonly tasks: Map<string, Perform>;
  /** Outcomes that the store has not taken yet, by delegation id. */
  readonly outcomes: Map<string, KeptOutcome>;
  readonly seen: SeenTokens;
}

/** Opens the stored delegations and tokens; the rest is in memory, and survives reloads. */
export async function openDelegationState(
  store: Store,
  { now }: Pick<ForwardClock, "now">,
  { holders }: Pick<ServerState, "holders">,
): Promise<DelegationState> {
  return {
    runs: await RecentRuns.open(),
    register: await openDelegationRegister(store, holders),
    tasks: new Map(),
    outcomes: new Map(),
    seen: await SeenTokens.open(store, now),
  };
}

/** The request that queries a delegation. */
export function pollOf(id: string): { readonly method: string; readonly path: string } {
  return { method: "QUERY", path: `/delegations/${id}` };
}

/**
 * QUERY /delegations/{delegation_id}: for the delegating agent, or a caller that sees everything. 404 no such
 * delegation that the caller may see · 455 its outcome, for a caller that could not delegate the task now.
 */
export function delegationEndpoint(register: Pick<DelegationRegister, "find">): ProtocolEndpoint {
  return {
    ...{ method: "QUERY", path: "/delegations/{delegation_id}" },
    description: "Returns how a task stands that was handed on with a callback, and its outcome.",
    ...{ capability: "retrieval", impact: "informational", isListed: false },
    inputSchema: {
      type: "object",
      properties: { delegation_id: { type: "string", minLength: 1, maxLength: 128 } },
    },
    looksUp: ["delegation_id"],
    handler: (call, exchange) => {
      const delegation = register.find(String(call.input["delegation_id"]));
      if (delegation === undefined || !maySee(delegation, exchange)) {
        return notFound("record-not-found", "no delegation of the caller has this id");
      }
      // The delegating agent sees the state; the outcome needs the scopes to delegate the task now.
      const isToldToAll = delegation.outcome === undefined || seesAll(exchange.caller);
      const { handedOn = [] } = delegation;
      const refusal = isToldToAll
        ? undefined
        : refuseUncovered(handedOn, exchange.caller.authority);
      return refusal ?? floorResult(call, viewOf(delegation));
    },
  };
}

function maySee(delegation: KeptDelegation, exchange: ExchangeView): boolean {
  const { caller } = exchange;
  const isOwn = caller.document?.agentId === delegation.agentId;
  return (isOwn && isOwnMatter(delegation, exchange)) || seesAll(caller);
}

function viewOf(delegation: KeptDelegation) {
  const { id, target, action, taskId, callback, outcome, delivery } = delegation;
  return {
    ...{ delegation_id: id, target_agent_id: target, action },
    ...(taskId === undefined ? {} : { task_id: taskId }),
    state: stateOf(delegation),
    ...outcome?.body,
    ...(outcome === undefined ? {} : { prior_actions: outcome.priorActions }),
    callback,
    delivery: delivery === undefined ? "pending" : delivery.isDelivered ? "delivered" : "failed",
  };
}

function stateOf({ outcome }: KeptDelegation): "running" | "completed" | "failed" {
  if (outcome === undefined) return "running";
  return isDone(outcome.status) ? "completed" : "failed";
}
