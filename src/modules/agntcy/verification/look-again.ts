/**
 * Looks for an agent that was not found, again and again, less and less often: its server may come up,
 * or be set right, and nobody has to tell this one.
 */
import { pause } from "../../../base/back-off.ts";
import type { CallLog } from "../../../handlers/handler.ts";
import type { LazyReadiness } from "./readiness.ts";

/** Options of looking for an agent. */
export interface SearchOptions {
  readonly readiness: Pick<LazyReadiness, "isReady" | "fault" | "ready">;
  /** The path that it is served on. */
  readonly base: string;
  readonly log: Pick<CallLog, "info" | "warn">;
  /** Ends it. */
  readonly signal: AbortSignal;
  readonly pausesMs?: readonly number[];
}

/** The last one is kept to. */
const PAUSES_MS = [2_000, 4_000, 8_000, 15_000, 30_000, 60_000];

/** Ends when the agent is found, whoever has found it. Never rejects. */
export async function lookAgain({
  readiness,
  base,
  log,
  signal,
  pausesMs = PAUSES_MS,
}: SearchOptions): Promise<void> {
  let told = readiness.fault;
  for (let count = 0; !readiness.isReady; count += 1) {
    const pauseMs = pausesMs[Math.min(count, pausesMs.length - 1)] ?? 0;
    if (!(await pause(pauseMs, signal))) return;
    const found = await readiness.ready(signal).catch(() => undefined);
    if (signal.aborted) return;
    if (found === undefined || found.kind === "ready" || found.message === told) continue;
    told = found.message;
    const hint = found.kind === "failed" ? found.hint : undefined;
    log.warn({ base, reason: told, hint }, "an agent is still not found");
  }
  log.info({ base }, "an agent is found, and served");
}
