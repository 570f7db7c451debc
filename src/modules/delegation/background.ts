/**
 * Runs delegations beside the requests, and delivers their outcomes: to the inbox by NOTIFY, or to
 * the endpoint that was named, in the caller's name and with its authority. A delivery that fails for
 * a reason that may pass is tried again.   AGTP "DELEGATE"
 */
import { allowManyListeners } from "../../base/deadline.ts";
import { type ActAs, actingCaller } from "../../dispatch/acting.ts";
import { delegationFailed } from "../../dispatch/floor-refusals-delegation.ts";
import { refusalBody } from "../../dispatch/refusal.ts";
import type { CallLog } from "../../handlers/handler.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import { isSuccess } from "../../wire/status.ts";
import { failed, type Outcome } from "./outcome.ts";
import { outcomeNews } from "./outcome-news.ts";
import type { RecentRuns } from "./recent-runs.ts";
import type { DelegationRegister, KeptDelegation, KeptOutcome } from "./register.ts";

/** What background work needs. */
export interface BackgroundOptions {
  readonly register: DelegationRegister;
  readonly runs: RecentRuns;
  readonly log: Pick<CallLog, "info" | "warn">;
  readonly actAs: ActAs;
  findAgent(agentId: string): AgentDocument | undefined;
}

const RETRY_MS = [1_000, 5_000, 30_000, 120_000] as const;

export class Background {
  readonly #options: BackgroundOptions;
  readonly #ending = new AbortController();
  readonly #running = new Set<Promise<void>>();
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(options: BackgroundOptions) {
    this.#options = options;
    // Everything under way listens to it, and stops doing so when it is done.
    allowManyListeners(this.#ending.signal);
  }

  /** Aborts when the deployment is not served any more. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Runs one that is kept already. */
  run(delegation: KeptDelegation, perform: () => Promise<Outcome>): void {
    this.#track(this.#runAndDeliver(delegation, perform));
  }

  /** Takes up what was not delivered; what ran then is over, and nobody knows how. */
  start(): void {
    for (const delegation of this.#options.register.list()) {
      const { action, target, taskId, id: runId } = delegation;
      const start = { kind: "delegate", action, target, taskId, runId } as const;
      const begun = this.#options.runs.begin(delegation.agentId, start);
      this.run(delegation, () => begun.then(interrupted));
    }
  }

  /** What runs is given up, and told so at the next start; resolves once that is kept. */
  async close(): Promise<void> {
    this.#ending.abort();
    for (const timer of this.#timers) clearTimeout(timer);
    await Promise.all(this.#running);
  }

  #track(work: Promise<void>): void {
    const { log } = this.#options;
    const tracked = work
      .catch((error: unknown) => log.warn({ error }, "a delegation could not be kept"))
      .finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  async #runAndDeliver(delegation: KeptDelegation, perform: () => Promise<Outcome>): Promise<void> {
    const { register, runs } = this.#options;
    const outcome = delegation.outcome ?? (await this.#perform(delegation, perform));
    const { status, body } = outcome;
    const state = isSuccess(status) ? "completed" : "failed";
    const code = isSuccess(status) ? undefined : String(body["reason"]);
    await runs.end(delegation.id, { state, status, code });
    const ended: KeptDelegation = { ...delegation, outcome };
    await register.advance(delegation.id, () => ({ run: ended }));
    if (!this.#ending.signal.aborted) await this.#deliver(ended, outcome, 0);
  }

  async #perform(
    { id, target, taskId }: KeptDelegation,
    perform: () => Promise<Outcome>,
  ): Promise<KeptOutcome> {
    const facts = {
      delegation_id: id,
      target_agent_id: target,
      ...(taskId === undefined ? {} : { task_id: taskId }),
    };
    let outcome: Outcome;
    try {
      outcome = await perform();
    } catch (error) {
      this.#options.log.warn({ error, delegation_id: id }, "a delegated task threw");
      outcome = interrupted();
    }
    const { priorActions } = outcome;
    if (outcome.kind === "completed") {
      const { status, result, peer } = outcome;
      const evidence = peer === undefined ? {} : { peer };
      return { status, body: { ...facts, status, result, ...evidence }, priorActions };
    }
    const { refusal } = outcome;
    return {
      status: refusal.status,
      body: { ...facts, status: refusal.status, ...refusalBody(refusal) },
      priorActions,
    };
  }

  async #deliver(delegation: KeptDelegation, outcome: KeptOutcome, tries: number): Promise<void> {
    const { register, log, findAgent, actAs } = this.#options;
    const { id, agentId, scopes } = delegation;
    const agent = findAgent(agentId);
    const facts = { delegation_id: id, agent_id: agentId };
    if (agent === undefined) {
      log.warn(facts, "the agent that delegated is gone; the outcome is dropped");
      await register.delete(id);
      return;
    }
    const { status } = await actAs({
      caller: actingCaller(agent, scopes),
      ...messageFor(delegation, outcome),
      // News of a task is not the task: it comes through while the task waits for a decision.
      taskId: undefined,
      priorActions: outcome.priorActions,
      signal: this.#ending.signal,
    });
    if (this.#ending.signal.aborted && !isSuccess(status)) return;
    const wait = RETRY_MS[tries];
    if (isSuccess(status) || !mayPass(status) || wait === undefined) {
      const told = { ...facts, status };
      if (isSuccess(status)) log.info(told, "the outcome of a delegation was delivered");
      else log.warn(told, "the outcome of a delegation was refused where it should have gone");
      await register.delete(id);
      return;
    }
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#track(this.#deliver(delegation, outcome, tries + 1));
    }, wait).unref();
    this.#timers.add(timer);
  }
}

/** Refusals that the same message may not get another time. */
function mayPass(status: number): boolean {
  return status === 429 || status === 500 || status === 503;
}

/** An inbox takes an id once: what is delivered again after a crash is not read twice. */
function messageFor({ id, callback, agentId }: KeptDelegation, { body }: KeptOutcome) {
  if (callback.kind === "endpoint") {
    return { method: callback.method, target: callback.path, input: body };
  }
  const input = {
    recipient: agentId,
    content: outcomeNews(body),
    notification_id: id,
    urgency: "informational",
    delivery_guarantee: "at_least_once",
  };
  return { method: "NOTIFY", target: "/", input };
}

function interrupted(): Outcome {
  const explanation = "the server stopped before the task was done, and does not begin it again";
  return failed(delegationFailed("interrupted", explanation, "unknown"));
}
