/**
 * The workers of a daemon. The first starts before the others, since it creates what the directory
 * lacks; each is replaced when it ends unexpectedly, with increasing pauses.
 */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type BackOff, pauseAfter } from "../../base/back-off.ts";
import { LinkGoneError } from "../../base/link.ts";
import type { Log } from "../../base/log.ts";
import type { Problem } from "../../base/problem.ts";
import { reasonOf } from "../../base/thrown.ts";
import {
  describeExit,
  type OnPassed,
  type WorkerExit,
  WorkerProcess,
} from "../../server/worker-process.ts";
import { STORE_FAULTS } from "../../state/sharing/link-faults.ts";
import type { SharedState } from "../../state/sharing/shared-state.ts";
import type { DaemonOptions } from "../build-daemon.ts";
import type { HttpPorts } from "../serving.ts";
import type { BeginAnswer, BeginOrder, WholeFacts } from "./orders.ts";
import { PassedIntermediates } from "./shared-intermediates.ts";
import { type Takings, UntoldTakings } from "./shared-rates.ts";
import { WorkerWatch } from "./worker-watch.ts";

export interface CrewMember {
  /** The worker's number, from 1; the first is the lead. */
  readonly number: number;
  readonly node: string;
  readonly process: WorkerProcess;
  readonly watch: WorkerWatch;
  readonly since: string;
  /** Sums up what other workers granted and this one was not told yet. */
  readonly untold: UntoldTakings;
}

interface CrewOptions {
  readonly daemon: DaemonOptions;
  readonly shared: SharedState;
  readonly count: number;
  /** Returns the current part of the first order that is the same for all workers. */
  order(): Pick<BeginOrder, "address" | "boundPort" | "ticketKeys"> & HttpPorts;
  nodeOf(number: number): string;
  facts(): Promise<WholeFacts>;
  onStarted(member: CrewMember, answer: Extract<BeginAnswer, { kind: "started" }>): void;
  onPassed(member: CrewMember, ...passed: Parameters<OnPassed>): void;
  onCounted(member: CrewMember, connections: number): void;
  onLost(member: CrewMember): void;
}

/** The pauses before replacements: none at first, then longer if workers keep ending soon. */
const PAUSES: BackOff = { firstMs: 100, longestMs: 10_000 };
const LASTING_MS = 30_000;
/**
 * The time after which a worker that does not serve yet is logged; a large deployment may take
 * longer to load.
 */
const LATE_MS = 30_000;
/** The longest time that a reload waits for starting workers. */
const AWAITED_MS = 10_000;

export class Crew {
  readonly #options: CrewOptions;
  readonly #members = new Map<number, CrewMember>();
  readonly #failures = new Map<number, number>();
  /** The problems that prevent a worker's replacement, by its number. */
  readonly #refusals = new Map<number, readonly Problem[]>();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Every running process, including those that do not serve yet. */
  readonly #processes = new Set<WorkerProcess>();
  readonly #intermediates = new PassedIntermediates();
  /** Replacements that do not serve yet. */
  readonly #beginning = new Set<Promise<unknown>>();
  /** The present or last work with all workers. */
  #together: Promise<unknown> = Promise.resolve();
  #isEnding = false;

  constructor(options: CrewOptions) {
    this.#options = options;
  }

  /** The intended number of workers. */
  get count(): number {
    return this.#options.count;
  }

  /** Lists the serving workers, the lead first. */
  get members(): readonly CrewMember[] {
    return [...this.#members.values()].sort((left, right) => left.number - right.number);
  }

  /** The problems that prevent replacements. */
  get refusals(): readonly Problem[] {
    return [...this.#refusals.values()].flat().map((problem) => ({
      ...problem,
      message: `keeps a worker from being replaced: ${problem.message}`,
    }));
  }

  /** The worker with the HTTP listeners; undefined while it is being replaced. */
  get lead(): CrewMember | undefined {
    return this.#members.get(1);
  }

  /** Starts the lead, then the others; returns the problems of one that cannot start. */
  async start(): Promise<readonly Problem[] | undefined> {
    const refusal = await this.#begin(1);
    if (refusal !== undefined) return refusal;
    const others = Array.from({ length: this.count - 1 }, (_, index) => this.#begin(index + 2));
    return (await Promise.all(others)).find((problems) => problems !== undefined);
  }

  /**
   * Runs work with all serving workers, once the starting ones serve; none starts before it is
   * done. A worker that started during a reload would serve the old deployment; one that starts too
   * slowly is ended and started again afterwards.
   */
  together<Result>(work: (members: readonly CrewMember[]) => Promise<Result>): Promise<Result> {
    const late = setTimeout(() => this.#endBeginning(), AWAITED_MS);
    const done = Promise.allSettled(this.#beginning).then(() => {
      clearTimeout(late);
      return work(this.members);
    });
    this.#together = done.catch(() => undefined);
    return done;
  }

  /** Ends all workers, once they have answered their requests and stored their state. */
  async end(timeoutMs: number): Promise<void> {
    this.#isEnding = true;
    for (const timer of this.#timers) clearTimeout(timer);
    const late = setTimeout(() => this.kill(), timeoutMs + LAST_WORDS_MS);
    await Promise.all(
      this.members.map(async ({ process }) => {
        await process.link.ask("end").catch(() => undefined);
        process.link.close();
        await process.exited;
      }),
    );
    clearTimeout(late);
    this.kill();
    await Promise.all([...this.#processes].map(({ exited }) => exited));
  }

  kill(): void {
    this.#isEnding = true;
    for (const process of this.#processes) process.kill();
  }

  /** Ends the workers that do not serve yet. */
  #endBeginning(): void {
    const serving = new Set(this.members.map(({ process }) => process));
    for (const process of this.#processes) {
      if (serving.has(process)) continue;
      const { number, pid } = process;
      const fields = { event: "worker-hung", worker: number, pid };
      this.#log.error(
        fields,
        `worker ${number} keeps a reload waiting while it begins: it is ended`,
      );
      process.kill();
    }
  }

  async #begin(number: number): Promise<readonly Problem[] | undefined> {
    const { daemon, shared, order, nodeOf, facts } = this.#options;
    const { configPath, host, port, log } = daemon;
    const process = new WorkerProcess({
      ...{ script: PROGRAM, number, env: daemon.env, codec: STORE_FAULTS },
      onLines: (lines) => log.writeLine(lines),
      onPassed: (...passed) => this.#options.onPassed(member, ...passed),
    });
    this.#processes.add(process);
    const node = nodeOf(number);
    const untold = new UntoldTakings(process.link, 0);
    const watch = this.#watch(number, process);
    const member = { number, node, process, watch, since: new Date().toISOString(), untold };
    process.link.serve({
      facts,
      // Forwards one worker's counts to all others.
      rates: (takings: Takings) => {
        for (const other of this.members) {
          if (other !== member) other.untold.pass(takings);
        }
      },
      intermediate: (der: string) => {
        const others = [...this.#processes].filter((other) => other !== process);
        this.#intermediates.pass(
          der,
          others.map(({ link }) => link),
        );
      },
      has: (connections: number) => this.#options.onCounted(member, connections),
    });
    void shared.serve(process.link, node);
    void process.exited.then((exit) => {
      this.#processes.delete(process);
      watch.close();
      this.#lost(member, exit);
    });
    const isLead = number === 1;
    const said = await this.#ask(process, {
      ...{ configPath, host, port, isLead, seat: { number, of: this.count }, ...order() },
      intermediates: this.#intermediates.list,
      logLevel: log.logger.level as BeginOrder["logLevel"],
    });
    if (said.kind === "refused") {
      process.kill();
      await process.exited;
      return said.problems;
    }
    this.#members.set(number, member);
    watch.start();
    this.#options.onStarted(member, said);
    return undefined;
  }

  /** Watches a worker, and ends one that hangs so that it is replaced, unless a debugger may be holding it. */
  #watch(number: number, process: WorkerProcess): WorkerWatch {
    const { pid, link } = process;
    return new WorkerWatch(link, {
      onSilent: () => {
        const fields = { event: "worker-silent", worker: number, pid };
        this.#log.warn(fields, `worker ${number} does not answer`);
      },
      onHung: () => {
        if (IS_INSPECTED) return;
        const fields = { event: "worker-hung", worker: number, pid };
        this.#log.error(fields, `worker ${number} has not answered for half a minute: it is ended`);
        process.kill();
      },
    });
  }

  async #ask(process: WorkerProcess, order: BeginOrder): Promise<BeginAnswer> {
    const { number, pid } = process;
    const late = setTimeout(() => {
      const fields = { event: "worker-silent", worker: number, pid };
      this.#log.warn(fields, `worker ${number} does not serve yet, half a minute after it began`);
    }, LATE_MS).unref();
    try {
      return await process.link.ask<BeginAnswer>("begin", order);
    } catch (error) {
      const message = await reasonOfEnd(process, error);
      return { kind: "refused", problems: [{ file: order.configPath, key: "", message }] };
    } finally {
      clearTimeout(late);
    }
  }

  /** Replaces a serving worker that ended. */
  #lost(member: CrewMember, exit: WorkerExit): void {
    const { number, process, since } = member;
    if (this.#members.get(number) !== member) return;
    this.#members.delete(number);
    this.#options.onLost(member);
    if (this.#isEnding) return;
    const { code, signal } = exit;
    const fields = { event: "worker-lost", worker: number, pid: process.pid, code, signal };
    this.#log.warn(fields, `worker ${number} has ended (${describeExit(exit)})`);
    const hasLasted = Date.now() - Date.parse(since) > LASTING_MS;
    if (hasLasted) this.#failures.delete(number);
    this.#replaceLater(number);
  }

  #replaceLater(number: number): void {
    const failures = this.#failures.get(number) ?? 0;
    this.#failures.set(number, failures + 1);
    const pause = failures === 0 ? 0 : pauseAfter(failures, PAUSES);
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      void this.#replace(number);
    }, pause);
    this.#timers.add(timer);
  }

  async #replace(number: number): Promise<void> {
    for (let awaited: unknown; awaited !== this.#together; ) {
      awaited = this.#together;
      await awaited;
    }
    if (this.#isEnding) return;
    const beginning = this.#begin(number);
    this.#beginning.add(beginning);
    const refusal = await beginning.finally(() => this.#beginning.delete(beginning));
    if (this.#isEnding) return;
    if (refusal === undefined) {
      this.#refusals.delete(number);
      const pid = this.#members.get(number)?.process.pid;
      const fields = { event: "worker-replaced", worker: number, pid };
      this.#log.info(fields, `worker ${number} is replaced`);
      return;
    }
    this.#refusals.set(number, refusal);
    for (const { file, key, message, hint } of refusal) {
      const problem = message;
      const fields = { event: "worker-refused", worker: number, file, key, problem, hint };
      this.#log.error(fields, `worker ${number} cannot be replaced: ${message}`);
    }
    this.#replaceLater(number);
  }

  get #log(): Log["logger"] {
    return this.#options.daemon.log.logger;
  }
}

/** Returns why a worker did not start: a fault that it reported, or its end. */
async function reasonOfEnd(process: WorkerProcess, error: unknown): Promise<string> {
  const end = await endBehind(process, error);
  if (end === undefined) return `a worker could not begin: ${reasonOf(error)}`;
  return `a worker ended when it began (${end})`;
}

/** Describes the end of a worker whose answer is missing; undefined if it did not end but reported the error. */
export async function endBehind(
  { exited }: WorkerProcess,
  error: unknown,
): Promise<string | undefined> {
  return error instanceof LinkGoneError ? describeExit(await exited) : undefined;
}

/** The time that a worker gets to end after its last answer. */
const LAST_WORDS_MS = 5_000;

const PROGRAM = programPath();
/** Workers inherit the parent's flags. */
const IS_INSPECTED = process.execArgv.some((flag) => flag.startsWith("--inspect"));

/** Returns the worker program. Node runs only built code, so sources use the built one, too. */
function programPath(): string {
  const built = fileURLToPath(new URL("../../../tools/agtpd-worker.js", import.meta.url));
  if (existsSync(built)) return built;
  return fileURLToPath(new URL("../../../dist/tools/agtpd-worker.js", import.meta.url));
}
