/**
 * Takes up runs that are not over, whoever left them: an earlier process, another deployment, a node
 * that is gone, a full disk. What has been over for long is deleted on the way.
 */
import { traceOf } from "../../../base/thrown.ts";
import type { RunEnder } from "./end-runs.ts";
import { isSuspended } from "./run.ts";
import { scheduled } from "./run-entry.ts";
import type { RunWorkerOptions } from "./run-worker.ts";

interface UnfinishedRunsOptions
  extends Pick<RunWorkerOptions, "register" | "limits" | "log" | "redact"> {
  readonly ender: RunEnder;
}

const LOOK_EVERY_MS = 60_000;

export class UnfinishedRuns {
  readonly #options: UnfinishedRunsOptions;
  #looking: NodeJS.Timeout | undefined;
  #forgetGone: () => void = () => undefined;

  constructor(options: UnfinishedRunsOptions) {
    this.#options = options;
  }

  /** Looks at once, and now and then. */
  start(): void {
    this.#look();
    this.#looking = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
    this.#forgetGone = this.#options.register.onGone(() => this.#takeUp());
  }

  stop(): void {
    clearInterval(this.#looking);
    this.#forgetGone();
  }

  #look(): void {
    const { register, limits, log, redact } = this.#options;
    this.#takeUp();
    register.forget(limits).catch((error: unknown) => {
      log.warn({ trace: redact(traceOf(error)) }, "old runs could not be deleted");
    });
  }

  #takeUp(): void {
    const { register, ender } = this.#options;
    const { schedule } = register;
    for (const entry of register.unfinished()) {
      if (!register.isOurs(entry)) continue;
      if (ender.takeDown(entry) || isSuspended(entry.status)) continue;
      const run = scheduled(entry);
      if (!schedule.has(run)) schedule.add(run);
    }
  }
}
