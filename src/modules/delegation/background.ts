/**
 * Runs delegations that have a callback: performs each task once, then delivers the outcome to the inbox by NOTIFY or
 * to the named endpoint, as the caller and with its authority. A delivery that fails transiently is retried.   AGTP
 * "DELEGATE"
 */
import { pause } from "../../base/back-off.ts";
import { allowManyListeners } from "../../base/deadline.ts";
import { given } from "../../base/json-value.ts";
import { isOneRevoked } from "../../dispatch/caller/shown-certificates.ts";
import { type ActAs, actingCaller } from "../../dispatch/handling/acting.ts";
import { delegationFailed } from "../../dispatch/refusals/delegation-refusals.ts";
import { refusalBody } from "../../dispatch/refusals/refusal.ts";
import type { CallLog } from "../../handlers/handler.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import { commonScopes } from "../../identity/authority-scope.ts";
import type { RunExecutor } from "../../runs/run-schedule.ts";
import type { CertificateRegister } from "../../state/registers/certificate-register.ts";
import { isDone, isSuccess } from "../../wire/message.ts";
import { failed, type Outcome, outcomeNews } from "./outcome.ts";
import type { RecentRuns } from "./recent-runs.ts";
import type { DelegationRegister, KeptDelegation, KeptOutcome, Perform } from "./register.ts";

/** The dependencies of background work. */
export interface BackgroundOptions {
  readonly register: DelegationRegister;
  readonly runs: RecentRuns;
  /** Tasks that this process has accepted and not begun, by delegation id. */
  readonly tasks: Map<string, Perform>;
  /** Outcomes that the store has not taken yet, by delegation id. */
  readonly outcomes: Map<string, KeptOutcome>;
  readonly log: Pick<CallLog, "info" | "warn">;
  readonly actAs: ActAs;
  readonly certificates: Pick<CertificateRegister, "isRevoked">;
  findAgent(agentId: string): AgentDocument | undefined;
}

const RETRY_MS = [1_000, 5_000, 30_000, 120_000] as const;

export class Background implements RunExecutor {
  /** Unbounded here, since the register's quota bounds them. */
  readonly concurrent: number = Infinity;
  readonly #options: BackgroundOptions;
  readonly #ending = new AbortController();
  #stop: () => void = () => undefined;

  constructor(options: BackgroundOptions) {
    this.#options = options;
    // Each running delegation adds a listener, and removes it when it is done.
    allowManyListeners(this.#ending.signal);
  }

  /** Aborts once the deployment is no longer served. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Queues the task of an already stored delegation. */
  run(delegation: KeptDelegation, perform: Perform): void {
    this.#options.tasks.set(delegation.id, perform);
    this.#options.register.enqueue(delegation);
  }

  /** Takes up undelivered delegations; a task that was running ends as interrupted, its outcome unknown. */
  start(): void {
    this.#stop = this.#options.register.executeBy(this, (left) => this.#takeUp(left));
  }

  #takeUp(left: readonly KeptDelegation[]): void {
    const { register, runs } = this.#options;
    for (const delegation of left) {
      if (!register.isUnattended(delegation)) continue;
      const { action, target, taskId, principalId, id: runId } = delegation;
      const start = { kind: "delegate", action, target, taskId, principalId, runId } as const;
      const begun = runs.begin(delegation.agentId, start);
      this.run(delegation, () => begun.then(interrupted));
    }
  }

  /** Aborts running delegations and leaves the rest to the next start; resolves once they have ended. */
  async close(): Promise<void> {
    this.#stop();
    this.#ending.abort();
    await this.#options.register.schedule.idle(this);
  }

  /** Performs and delivers a delegation; a repetition after a store failure continues from the held outcome. */
  async execute(id: string): Promise<void> {
    const { register } = this.#options;
    const isOurs = await register.claim(id);
    const delegation = isOurs ? register.find(id) : undefined;
    if (delegation === undefined || delegation.delivery !== undefined) return;
    const outcome = await this.#outcomeOf(delegation);
    await this.#keep(delegation, outcome);
    await this.#deliver(delegation, outcome);
  }

  reportFault(error: unknown): void {
    this.#options.log.warn({ error }, "a delegation could not be kept");
  }

  forget(id: string): void {
    this.#options.tasks.delete(id);
    this.#options.outcomes.delete(id);
  }

  /** Returns the stored or held outcome; otherwise performs the task, which happens once. */
  async #outcomeOf(delegation: KeptDelegation): Promise<KeptOutcome> {
    const { id } = delegation;
    const { tasks, outcomes } = this.#options;
    const known = delegation.outcome ?? outcomes.get(id);
    if (known !== undefined) return known;
    const perform = tasks.get(id) ?? (() => Promise.resolve(interrupted()));
    tasks.delete(id);
    const outcome = await this.#perform(delegation, perform);
    outcomes.set(id, outcome);
    return outcome;
  }

  async #keep({ id }: KeptDelegation, outcome: KeptOutcome): Promise<void> {
    const { register, runs } = this.#options;
    const { status, body } = outcome;
    const state = isDone(status) ? "completed" : "failed";
    const code = isDone(status) ? undefined : String(body["reason"]);
    await runs.end(id, { state, status, code });
    await register.advance(id, (run) => ({ run: { ...run, outcome } }), { isHolders: true });
  }

  async #perform({ id, target, taskId }: KeptDelegation, perform: Perform): Promise<KeptOutcome> {
    const facts = {
      ...{ delegation_id: id, target_agent_id: target },
      ...given({ task_id: taskId }),
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

  /** Retries until delivery succeeds, fails for good, or passes to the next start or another node. */
  async #deliver(delegation: KeptDelegation, outcome: KeptOutcome): Promise<void> {
    const { register, log, findAgent } = this.#options;
    const { id, agentId } = delegation;
    const { signal } = this;
    for (let tries = 0; !signal.aborted; tries += 1) {
      const agent = findAgent(agentId);
      const facts = { delegation_id: id, agent_id: agentId };
      if (agent === undefined) {
        log.warn(facts, "the agent that delegated is gone; the outcome is dropped");
        return register.delete(id);
      }
      const status = await this.#send(agent, delegation, outcome);
      if (signal.aborted && !isSuccess(status)) return;
      const wait = RETRY_MS[tries];
      if (isSuccess(status) || !mayPass(status) || wait === undefined) {
        const told = { ...facts, status };
        const isDelivered = isSuccess(status);
        if (isDelivered) log.info(told, "the outcome of a delegation was delivered");
        else log.warn(told, "the outcome of a delegation was refused where it should have gone");
        const delivery = { isDelivered, at: register.now() };
        await register.advance(id, (run) => ({ run: { ...run, delivery } }), { isHolders: true });
        return;
      }
      await pause(wait, signal);
      const now = register.find(id);
      if (now === undefined || !register.isHeldHere(now)) return;
    }
  }

  async #send(
    agent: AgentDocument,
    delegation: KeptDelegation,
    outcome: KeptOutcome,
  ): Promise<number> {
    const { actAs, certificates } = this.#options;
    const { callback, shown } = delegation;
    // Delivery to the agent's inbox does not depend on its certificate.
    if (callback.kind === "endpoint" && isOneRevoked(shown, certificates)) return 401;
    const { status } = await actAs({
      // Scopes that the agent had when it delegated and still has.
      caller: actingCaller(agent, commonScopes(agent.scopes, delegation.scopes)),
      ...messageFor(delegation, outcome),
      // The delivery is not part of the task, so it is not held up while the task waits for a decision.
      taskId: undefined,
      priorActions: outcome.priorActions,
      signal: this.signal,
    });
    return status;
  }
}

/** Tells whether a refusal is transient. */
function mayPass(status: number): boolean {
  return status === 429 || status === 500 || status === 503;
}

/** Builds the message; its fixed `notification_id` keeps a redelivery after a crash from arriving twice. */
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
