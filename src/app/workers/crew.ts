/**
 * The workers of a daemon: the first is started before the others, since it makes what the directory
 * lacks, and each is replaced when it ends though nobody told it to, later each time.
 */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type BackOff, pauseAfter } from "../../base/back-off.ts";
import { LinkGoneError } from "../../base/link.ts";
import type { Log } from "../../base/log.ts";
import type { Problem } from "../../base/problem.ts";
import { reasonOf } from "../../base/thrown.ts";
import { type OnPassed, WorkerProcess } from "../../server/worker-process.ts";
import { STORE_FAULTS } from "../../state/sharing/link-faults.ts";
import type { SharedState } from "../../state/sharing/shared-state.ts";
import type { DaemonOptions } from "../build-daemon.ts";
import type { HttpPorts } from "../serving.ts";
import type { BeginAnswer, BeginOrder, WholeFacts } from "./orders.ts";
import { type Takings, UntoldTakings } from "./shared-rates.ts";
import { WorkerWatch } from "./worker-watch.ts";

export interface CrewMember {
  /** From 1 on; the first is the lead. */
  readonly number: number;
  readonly node: string;
  readonly process: WorkerProcess;
  readonly watch: WorkerWatch;
  readonly since: string;
  /** Sums up takings of others that this worker has not been told of. */
  readonly untold: UntoldTakings;
}

interface CrewOptions {
  readonly daemon: DaemonOptions;
  readonly shared: SharedState;
  readonly count: number;
  /** The part of the first order that is the same for all of them, as it is now. */
  order(): Pick<BeginOrder, "address" | "boundPort" | "ticketKeys"> & HttpPorts;
  nodeOf(number: number): string;
  facts(): Promise<WholeFacts>;
  onStarted(member: CrewMember, answer: Extract<BeginAnswer, { kind: "started" }>): void;
  onPassed(member: CrewMember, ...passed: Parameters<OnPassed>): void;
  onCounted(member: CrewMember, connections: number): void;
  onLost(member: CrewMember): void;
}

/** The first replacement comes at once, those of workers that end soon again later. */
const PAUSES: BackOff = { firstMs: 100, longestMs: 10_000 };
const LASTING_MS = 30_000;
/** So long after it was started a worker that does not serve is told of; a large deployment may take longer to load. */
const LATE_MS = 30_000;
/** So long a reload waits for workers that begin. */
const AWAITED_MS = 10_000;

export class Crew {
  readonly #options: CrewOptions;
  readonly #members = new Map<number, CrewMember>();
  readonly #failures = new Map<number, number>();
  /** Why a place stays empty, by the number of its worker. */
  readonly #refusals = new Map<number, readonly Problem[]>();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Every process that has not ended, those that do not serve yet included. */
  readonly #processes = new Set<WorkerProcess>();
  /** Replacements that do not serve yet. */
  readonly #beginning = new Set<Promise<unknown>>();
  /** Work with all of them, or the last. */
  #together: Promise<unknown> = Promise.resolve();
  #isEnding = false;

  constructor(options: CrewOptions) {
    this.#options = options;
  }

  /** How many there are to be. */
  get count(): number {
    return this.#options.count;
  }

  /** Lists the workers that serve, the lead first. */
  get members(): readonly CrewMember[] {
    return [...this.#members.values()].sort((left, right) => left.number - right.number);
  }

  /** The reasons for which workers are not replaced. */
  get refusals(): readonly Problem[] {
    return [...this.#refusals.values()].flat().map((problem) => ({
      ...problem,
      message: `keeps a worker from being replaced: ${problem.message}`,
    }));
  }

  /** The one that has the listeners of HTTP; undefined while it is being replaced. */
  get lead(): CrewMember | undefined {
    return this.#members.get(1);
  }

  /** Starts the lead, and then all others; answers the problems of one that cannot start. */
  async start(): Promise<readonly Problem[] | undefined> {
    const refusal = await this.#begin(1);
    if (refusal !== undefined) return refusal;
    const others = Array.from({ length: this.count - 1 }, (_, index) => this.#begin(index + 2));
    return (await Promise.all(others)).find((problems) => problems !== undefined);
  }

  /**
   * Does something with all that serve, once those that have begun do; none begins before it is over. One that
   * began beside a reload would serve what was before it; one that takes long is ended, and begins anew after it.
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

  /** Ends all of them, once they have answered what they received and kept their state. */
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

  /** Ends those that do not serve yet. */
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
      // One worker tells, and all others hear.
      rates: (takings: Takings) => {
        for (const other of this.members) {
          if (other !== member) other.untold.pass(takings);
        }
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

  /** A worker that hangs is ended, so that it is replaced; not while a debugger may hold it. */
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

  /** One that served is replaced. */
  #lost(member: CrewMember, exit: Awaited<WorkerProcess["exited"]>): void {
    const { number, process, since } = member;
    if (this.#members.get(number) !== member) return;
    this.#members.delete(number);
    this.#options.onLost(member);
    if (this.#isEnding) return;
    const { code, signal } = exit;
    const fields = { event: "worker-lost", worker: number, pid: process.pid, code, signal };
    this.#log.warn(fields, `worker ${number} has ended (${signal ?? `exit code ${code}`})`);
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

/** Why a worker did not begin: a fault told by one that lives, or its end. */
async function reasonOfEnd({ exited }: WorkerProcess, error: unknown): Promise<string> {
  if (!(error instanceof LinkGoneError)) return `a worker could not begin: ${reasonOf(error)}`;
  const { code, signal } = await exited;
  return `a worker ended when it began (${signal ?? `exit code ${code}`})`;
}

/** The time of a worker to end after everything was answered or ended. */
const LAST_WORDS_MS = 5_000;

const PROGRAM = programPath();
/** Workers are started with the parent's own flags. */
const IS_INSPECTED = process.execArgv.some((flag) => flag.startsWith("--inspect"));

/** Node runs built code only: where the sources themselves run, it is the one that was built. */
function programPath(): string {
  const built = fileURLToPath(new URL("../../../tools/agtpd-worker.js", import.meta.url));
  if (existsSync(built)) return built;
  return fileURLToPath(new URL("../../../dist/tools/agtpd-worker.js", import.meta.url));
}
