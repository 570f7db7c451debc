/**
 * Checks if a run's server has changed its verdict: an `error` may have become a success, and an interrupt may have
 * been answered at the server. The run is then followed again.
 */

import { within } from "../../../base/deadline.ts";
import { recentlyUsed } from "../../../base/recently-used.ts";
import type { AcpRun } from "../acp/acp-answers.ts";
import { type RemoteAgent, streams } from "../remote-agent.ts";
import type { AgentRuns } from "./agent-runs.ts";
import { FORGOTTEN } from "./await-verdict.ts";
import { type AgentRun, addressOf } from "./run.ts";

interface ReviewOptions {
  readonly register: AgentRuns;
  /** Aborted on closing; ends every check. */
  readonly closing: AbortSignal;
  follow(run: AgentRun): void;
}

/** The timeout of a check, the pause between checks of a run, and how long an error is checked. */
const LOOK_TIMEOUT_MS = 3_000;
const LOOK_PAUSE_MS = 1_000;
const DOUBT_MS = 3_600_000;

export class RunReview {
  readonly #options: ReviewOptions;
  readonly #busy = new Set<string>();
  readonly #looked = recentlyUsed<true>(4096, LOOK_PAUSE_MS);

  constructor(options: ReviewOptions) {
    this.#options = options;
  }

  /** Returns the run as its server has it now; if it continues, waits briefly for its outcome. */
  async reconsider(
    run: AgentRun,
    agent: RemoteAgent,
    caller: AbortSignal,
    { isForced = false }: { readonly isForced?: boolean } = {},
  ): Promise<AgentRun> {
    const { closing } = this.#options;
    if (!isDoubtful(run) || closing.aborted) return run;
    // A caller that is answering the interrupt checks the run itself.
    const isLeft = isOld(run) || this.#looked.has(run.runId) || this.#busy.has(run.runId);
    if (!isForced && isLeft) return run;
    this.#looked.set(run.runId, true);
    const ends = { signals: [closing], timeoutMs: LOOK_TIMEOUT_MS };
    return within(ends, (signal) => this.#look(run, agent, caller, signal));
  }

  /** Runs `work` exclusively for a run; undefined if other work is running. */
  async exclusively<Value>(runId: string, work: () => Promise<Value>): Promise<Value | undefined> {
    if (this.#busy.has(runId)) return undefined;
    this.#busy.add(runId);
    try {
      return await work();
    } finally {
      this.#busy.delete(runId);
    }
  }

  async #look(
    run: AgentRun,
    agent: RemoteAgent,
    caller: AbortSignal,
    signal: AbortSignal,
  ): Promise<AgentRun> {
    const { register, follow } = this.#options;
    const seen = await agent.client.run(addressOf(run), signal);
    if (seen.kind === "failed") {
      return seen.status === 404 ? await this.#giveUpForgotten(run, agent, signal) : run;
    }
    if (isTheSame(run, seen.value)) return run;
    const deadlineAt = Date.now() + agent.timeoutMs;
    const change = {
      ...({ status: "pending", deadlineAt } as const),
      ...{ error: undefined, interrupt: undefined, isAnswerSent: undefined },
      ...(streams(agent.manifest) ? { mayLackEvents: true } : {}),
    };
    const changed = await register.change(run.runId, change, {
      expected: [run.status],
      result: {},
    });
    if (changed === undefined) return register.find(run.runId) ?? run;
    follow(changed);
    const wait = { signals: [caller, signal], timeoutMs: LOOK_TIMEOUT_MS };
    await register.stopped(run.runId, wait);
    return register.find(run.runId) ?? changed;
  }

  /** Fails an interrupted run that the server no longer knows; failed runs stay as they are. */
  async #giveUpForgotten(
    run: AgentRun,
    { client }: RemoteAgent,
    signal: AbortSignal,
  ): Promise<AgentRun> {
    const { register } = this.#options;
    const { runId } = run;
    if (run.status !== "interrupted") return run;
    const waited = await client.waitForRun(addressOf(run), LOOK_TIMEOUT_MS, signal);
    if (waited.kind !== "failed" || waited.status !== 404) return run;
    const error = { code: "upstream_error", message: FORGOTTEN } as const;
    const change = {
      ...({ status: "error", error } as const),
      ...{ interrupt: undefined, isAnswerSent: undefined },
    };
    const changed = await register.change(runId, change, { expected: ["interrupted"], result: {} });
    return changed ?? register.find(runId) ?? run;
  }
}

/** Tells whether a server may change its verdict; an unreadable answer will not improve. */
function isDoubtful({ status, error }: AgentRun): boolean {
  if (status === "interrupted") return true;
  return error?.code === "agent_run_failed" || error?.code === "upstream_connection_error";
}

function isOld({ status, updatedAt }: AgentRun): boolean {
  return status !== "interrupted" && Date.now() - updatedAt >= DOUBT_MS;
}

function isTheSame(run: AgentRun, seen: AcpRun): boolean {
  if (run.isAnswerSent === true) return false;
  const asKept = seen.status === "timeout" ? "error" : seen.status;
  return asKept === run.status && run.error?.code !== "upstream_connection_error";
}
