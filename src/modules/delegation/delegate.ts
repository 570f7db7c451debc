/**
 * DELEGATE: delegates a task to another agent, hosted here or at a peer, with a strict subset of the caller's scopes.
 * 202 if the outcome goes to a callback · 262 excess scope · 403 not permitted · 404 no such agent · 422 malformed ·
 * 457 out of the zone · 550 the delegate failed · 551 a link of the chain does not hold.   AGTP "DELEGATE"
 */
import { makeAround } from "../../base/exact-numbers.ts";
import { given, recordIn } from "../../base/json-value.ts";
import { linkEntry } from "../../dispatch/caller/delegation.ts";
import { shownCertificates } from "../../dispatch/caller/shown-certificates.ts";
import { delegationFailed } from "../../dispatch/refusals/delegation-refusals.ts";
import { carryMore, type Refusal, violationAt } from "../../dispatch/refusals/refusal.ts";
import { floorResult } from "../../dispatch/routes/floor.ts";
import type { ExchangeView, RouteHandler } from "../../dispatch/routes/route.ts";
import type { CallSurroundings } from "../../handlers/call-upstream.ts";
import type { Call, HandlerSuccess } from "../../handlers/handler.ts";
import { uuidv7 } from "../../identity/uuid.ts";
import type { Background } from "./background.ts";
import { type Hop, type HopRules, prepareHop } from "./hop.ts";
import { type Outcome, stateOf, TaskTime } from "./outcome.ts";
import type { RecentRuns, RunEnd, RunStart } from "./recent-runs.ts";
import { type DelegationRegister, type KeptDelegation, pollOf } from "./register.ts";
import {
  type CallbackPlaces,
  type DelegationRequest,
  describeTask,
  readCallback,
  readDelegation,
} from "./request.ts";

/** A task to perform. */
export interface Performance {
  readonly hop: Hop;
  readonly request: DelegationRequest;
  readonly taskId: string | undefined;
  /** The approval that the request carries for the task's calls. */
  readonly escalationId: string | undefined;
  /** The waiting request; undefined if it is answered before the task ends. */
  readonly waitedForBy: CallSurroundings | undefined;
  readonly time: TaskTime;
}

interface DelegateOptions {
  readonly rules: HopRules;
  readonly runs: RecentRuns;
  readonly register: DelegationRegister;
  readonly background: Pick<Background, "run" | "signal">;
  readonly callbacks: CallbackPlaces;
  /** Performs the task, here or at a peer. */
  perform(performance: Performance): Promise<Outcome>;
}

type Answer = HandlerSuccess | Refusal;

interface Asked {
  readonly call: Call;
  readonly exchange: ExchangeView;
  readonly request: DelegationRequest;
  readonly hop: Hop;
}

/** The handler of DELEGATE on "/". */
export function delegateHandler(options: DelegateOptions): RouteHandler {
  return async (call, exchange) => {
    const request = readDelegation(call.input, Date.now());
    if ("kind" in request) return request;
    const hop = prepareHop(options.rules, request, exchange);
    if ("kind" in hop) return hop;
    const { target, delegation } = hop;
    const link = delegation.links.at(-1);
    call.log.info({ delegation: link && linkEntry(link) }, "a task is handed on");
    exchange.notePartScopes(link?.scopes ?? []);
    if (target.kind === "hosted") exchange.addressed = target.agent;
    const asked = { call, exchange, request, hop };
    return request.callback === undefined ? waitFor(options, asked) : takeOn(options, asked);
  };
}

/** Performs the task while the caller waits. */
async function waitFor(options: DelegateOptions, asked: Asked): Promise<Answer> {
  const { call, exchange, hop } = asked;
  const { runs } = options;
  const id = await runs.begin(exchange.caller.document?.agentId, runStart(asked));
  let outcome: Outcome | undefined;
  try {
    outcome = await perform(options, asked, call.signal, exchange);
    for (const prior of outcome.priorActions) exchange.notePriorAction(prior);
    if (outcome.kind === "completed" && outcome.awaitsAnswer === true) exchange.markAwaiting();
    return answerOf(call, hop, id, outcome);
  } finally {
    await runs.end(id, endOf(outcome));
  }
}

/** 202: stores the delegation before answering; its outcome goes to the callback. */
async function takeOn(options: DelegateOptions, asked: Asked): Promise<Answer> {
  const { call, exchange, request, hop } = asked;
  const { register, runs, background } = options;
  const { document, authority, delegation: outer } = exchange.caller;
  if (document === undefined || outer !== undefined) {
    return violationAt("/callback", "not", "is for agents of this server that ask for themselves");
  }
  const { agentId } = document;
  const callback = readCallback(request.callback, agentId, options.callbacks);
  if (callback.kind === "refusal") return callback;
  const kept: KeptDelegation = {
    id: uuidv7(),
    agentId,
    scopes: authority.scopes,
    shown: shownCertificates(exchange),
    handedOn: hop.delegation.links.at(-1)?.scopes ?? [],
    target: nameOf(hop),
    action: describeTask(request.task),
    ...given({ taskId: call.taskId, principalId: call.principalId }),
    callback,
  };
  if ((await register.add({ run: kept })).kind !== "added") {
    const explanation = "too many delegations of this agent are under way";
    return delegationFailed("too-many-running", explanation, "not-begun");
  }
  await runs.begin(agentId, { ...runStart(asked), runId: kept.id });
  background.run(kept, () => perform(options, asked, background.signal));
  const poll = pollOf(kept.id);
  return floorResult(call, { ...described(hop, kept.id), state: "accepted", callback, poll }, 202);
}

/** Performs the task until its deadline, or until `caller` aborts. */
function perform(
  options: DelegateOptions,
  asked: Asked,
  caller: AbortSignal,
  waitedForBy?: CallSurroundings,
): Promise<Outcome> {
  const { call, exchange, request, hop } = asked;
  const escalationId = exchange.header("escalation-id");
  return TaskTime.of(hop.delegation.deadline, caller, (time) =>
    options.perform({ hop, request, taskId: call.taskId, escalationId, waitedForBy, time }),
  );
}

function runStart({ call, request, hop }: Asked): RunStart {
  const { taskId, principalId } = call;
  const action = describeTask(request.task);
  return { kind: "delegate", action, target: nameOf(hop), taskId, principalId };
}

/** The end of a run; an undefined outcome is an internal fault, of which the caller learns only the id. */
function endOf(outcome: Outcome | undefined): RunEnd {
  if (outcome === undefined) return { state: "failed", status: 500, code: undefined };
  if (outcome.kind === "completed") {
    return { state: "completed", status: outcome.status, code: undefined };
  }
  const { status, code } = outcome.refusal;
  return { state: "failed", status, code };
}

function answerOf(call: Call, hop: Hop, id: string, outcome: Outcome): Answer {
  const { priorActions } = outcome;
  const facts = { ...described(hop, id), prior_actions: priorActions };
  if (outcome.kind === "failed") return carryMore(outcome.refusal, facts);
  const { status, result, peer } = outcome;
  const tell = (told: unknown): HandlerSuccess =>
    floorResult(call, {
      ...{ ...facts, state: stateOf(status), status, result: told },
      ...(peer === undefined ? {} : { peer }),
    });
  return { ...tell(result), body: makeAround(result, (told) => recordIn(tell(told).body)) };
}

function described(hop: Hop, id: string) {
  const { links, deadline } = hop.delegation;
  const link = links.at(-1);
  return {
    delegation_id: id,
    target_agent_id: nameOf(hop),
    authority_scope: link?.scopes ?? [],
    deadline: new Date(deadline).toISOString(),
    delegation_chain: links.map(linkEntry),
  };
}

function nameOf({ target }: Hop): string {
  return target.kind === "hosted" ? target.agent.agentId : target.agent;
}
