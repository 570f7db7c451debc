/**
 * The processes of a deployment. Those of the next one are started before these are ended; a call
 * that comes too late for these is answered by those.
 */
import { findDirectoryFault } from "../../base/bounded-file.ts";
import { suggest } from "../../base/close-matches.ts";
import type { Environment } from "../../base/environment.ts";
import { tellingOf } from "../../base/leaving.ts";
import type { Problem } from "../../base/problem.ts";
import { ProcessGroups } from "../../base/process-groups.ts";
import type { HandlerResult } from "../handler.ts";
import type { FoundFunction, ProcessFunctions } from "../module-loader.ts";
import {
  type CallProcess,
  createProcessFunction,
  type ProcessCall,
  ProcessFault,
  type ProcessLog,
} from "./process-call.ts";
import { type ProcessHealth, ProcessPool } from "./process-pool.ts";
import { type ProcessConfig, processSettings } from "./processes-section.ts";

/** The parts that outlive a reload. */
interface ProcessHouse {
  readonly groups: ProcessGroups;
  /** The pools that were started last, by name. */
  readonly latest: Map<string, ProcessPool>;
}

/** The house of a daemon. */
export function openProcessHouse(): ProcessHouse {
  return { groups: new ProcessGroups(), latest: new Map() };
}

interface DeployedProcessesParts {
  readonly processes: readonly ProcessConfig[];
  /** The deployment's directory. */
  readonly directory: string;
  /** The file that they are configured in, as problems name it. */
  readonly file: string;
  readonly env: Environment;
  readonly log: ProcessLog;
  readonly house: ProcessHouse;
  readonly maxLineBytes: number;
  readonly handlerTimeoutMs: number;
  /** 10 seconds unless given. */
  readonly helloTimeoutMs?: number;
}

const HELLO_MS = 10_000;

/** They run from `start` to `close`. */
export class DeployedProcesses implements ProcessFunctions {
  readonly names: readonly string[];
  readonly #parts: DeployedProcessesParts;
  readonly #pools: ReadonlyMap<string, ProcessPool>;
  readonly #faults = new Set<string>();

  constructor(parts: DeployedProcessesParts) {
    const { processes, directory, env, log, house, maxLineBytes } = parts;
    const { helloTimeoutMs = HELLO_MS } = parts;
    const common = { groups: house.groups, log, maxLineBytes, helloTimeoutMs };
    this.#parts = parts;
    this.names = processes.map(({ name }) => name);
    this.#pools = new Map(
      processes.map((one) => {
        const settings = processSettings(one, directory, env);
        return [one.name, new ProcessPool({ ...common, settings })];
      }),
    );
  }

  /** Starts all of them, and waits for their hellos. */
  async start(): Promise<readonly Problem[]> {
    const { file, house, processes } = this.#parts;
    const problems = await Promise.all(
      processes.map(async ({ name, cwd }, index): Promise<readonly Problem[]> => {
        const pool = this.#pools.get(name);
        const misplaced = findDirectoryFault(cwd);
        if (misplaced !== undefined) {
          this.#faults.add(name);
          return [{ file, key: `processes[${index}].cwd`, message: `"${cwd}" ${misplaced}` }];
        }
        const fault = await pool?.start();
        if (fault === undefined) {
          if (pool !== undefined) house.latest.set(name, pool);
          return [];
        }
        this.#faults.add(name);
        const message = `process "${name}" ${fault.message}`;
        return [{ file, key: `processes[${index}].command`, ...fault, message }];
      }),
    );
    return problems.flat();
  }

  find(process: string, name: string): FoundFunction {
    const pool = this.#pools.get(process);
    if (pool === undefined || this.#faults.has(process)) {
      return { fault: `process "${process}" could not be started` };
    }
    if (!pool.functions.has(name)) {
      const hint = suggest(name, pool.functions.keys());
      return { fault: `process "${process}" has no function "${name}"`, hint };
    }
    const leaving = { kind: "process", to: process, operation: name } as const;
    const call: CallProcess = (one) =>
      tellingOf(leaving, ({ traceparent }) => {
        const params = traceparent === undefined ? one.params : { ...one.params, traceparent };
        return this.#call(pool, { ...one, params, function: name });
      });
    const handler = createProcessFunction(call, this.#parts.handlerTimeoutMs);
    return { handler, call, signature: pool.functions.get(name) };
  }

  get health(): readonly ProcessHealth[] {
    return [...this.#pools.values()].map(({ health }) => health);
  }

  /** Another deployment is served: each ends with its last call. */
  retire(): void {
    for (const pool of this.#pools.values()) pool.retire();
  }

  /** Ends them all; resolves once nothing of them is left. */
  async close(): Promise<void> {
    const { latest } = this.#parts.house;
    for (const [name, pool] of this.#pools) if (latest.get(name) === pool) latest.delete(name);
    await Promise.all([...this.#pools.values()].map((pool) => pool.close()));
  }

  /** A request of the deployment before may come to a step when its processes are gone. */
  #call(pool: ProcessPool, call: ProcessCall): Promise<HandlerResult> {
    if (!pool.isClosed) return pool.call(call);
    const next = this.#parts.house.latest.get(pool.name);
    if (next === undefined || next.isClosed) {
      return Promise.reject(new ProcessFault(`process "${pool.name}" is gone`));
    }
    return next.call(call);
  }
}
