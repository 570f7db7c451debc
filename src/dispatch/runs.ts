/**
 * The recent executions and delegations of each agent of this server. They end with the process,
 * since the journal has them anyway, and are bounded: the oldest are forgotten first.
 */
import { uuidv7 } from "../identity/uuid.ts";

/** How a run stands. */
export type RunState = "running" | "completed" | "refused" | "failed";

/** One run. */
export interface Run {
  readonly runId: string;
  readonly kind: "execute" | "delegate";
  /** As the caller named it. */
  readonly action: string;
  /** Whom it was delegated to. */
  readonly target: string | undefined;
  readonly taskId: string | undefined;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly endedAt: number | undefined;
  readonly state: RunState;
  readonly status: number | undefined;
  /** `error.code` of a refusal. */
  readonly code: string | undefined;
}

/** The facts that are known when a run begins. */
export interface RunStart extends Pick<Run, "kind" | "action"> {
  readonly target?: string | undefined;
  readonly taskId?: string | undefined;
  /** Of something that has an id already. */
  readonly runId?: string;
}

const RUNS_PER_AGENT = 100;
const RUNS = 20_000;

export class Runs {
  /** In the order they began. */
  readonly #runs = new Map<string, { readonly agentId: string; run: Run }>();
  readonly #byAgent = new Map<string, Set<string>>();

  /** The id of a run that begins; `agentId` is undefined for whom nothing is remembered. */
  begin(agentId: string | undefined, { kind, action, target, taskId, runId }: RunStart): string {
    const id = runId ?? uuidv7();
    if (agentId === undefined) return id;
    const facts = { runId: id, kind, action, target, taskId, startedAt: Date.now() };
    const ended = { endedAt: undefined, status: undefined, code: undefined };
    this.#runs.set(id, { agentId, run: { ...facts, ...ended, state: "running" } });
    const own = this.#byAgent.get(agentId) ?? new Set();
    this.#byAgent.set(agentId, own.add(id));
    const [oldestOwn = ""] = own.size > RUNS_PER_AGENT ? own : [];
    const [oldest = ""] = this.#runs.size > RUNS ? this.#runs.keys() : [];
    for (const surplus of [oldestOwn, oldest]) this.#forget(surplus);
    return id;
  }

  /** How a run ended; one that was forgotten meanwhile stays so. */
  end(runId: string, outcome: Pick<Run, "state" | "status" | "code">): void {
    const kept = this.#runs.get(runId);
    if (kept !== undefined) kept.run = { ...kept.run, ...outcome, endedAt: Date.now() };
  }

  /** An agent's own runs, the newest first. */
  of(agentId: string): readonly Run[] {
    const ids = [...(this.#byAgent.get(agentId) ?? [])].reverse();
    return ids.flatMap((id) => this.#runs.get(id)?.run ?? []);
  }

  #forget(runId: string): void {
    const kept = this.#runs.get(runId);
    if (kept === undefined) return;
    this.#runs.delete(runId);
    const own = this.#byAgent.get(kept.agentId);
    own?.delete(runId);
    if (own?.size === 0) this.#byAgent.delete(kept.agentId);
  }
}
