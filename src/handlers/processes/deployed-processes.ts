/**
 * The processes of a deployment. A reload starts the next deployment's processes before these end;
 * a late call to these goes to the new ones.
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

/** The state that outlives a reload. */
interface ProcessHouse {
  readonly groups: ProcessGroups;
  /** The newest pool of each name. */
  readonly latest: Map<string, ProcessPool>;
}

/** Creates the daemon's process state. */
export function openProcessHouse(): ProcessHouse {
  return { groups: new ProcessGroups(), latest: new Map() };
}

interface DeployedProcessesParts {
  readonly processes: readonly ProcessConfig[];
  /** The deployment's directory. */
  readonly directory: string;
  /** The configuration file, as problems name it. */
  readonly file: string;
  readonly env: Environment;
  readonly log: ProcessLog;
  readonly house: ProcessHouse;
  readonly maxLineBytes: number;
  readonly handlerTimeoutMs: number;
  /** Default: 10 seconds. */
  readonly helloTimeoutMs?: number;
}

const HELLO_MS = 10_000;

/** The processes, which run from `start` to `close`. */
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

  /** Starts every process, and waits for their hellos. */
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

  /** Another deployment is served: each process ends with its last call. */
  retire(): void {
    for (const pool of this.#pools.values()) pool.retire();
  }

  /** Ends every process; resolves once all of them are gone. */
  async close(): Promise<void> {
    const { latest } = this.#parts.house;
    for (const [name, pool] of this.#pools) if (latest.get(name) === pool) latest.delete(name);
    await Promise.all([...this.#pools.values()].map((pool) => pool.close()));
  }

  /** Calls the pool, or its successor: an earlier deployment's request may reach a step after its processes ended. */
  #call(pool: ProcessPool, call: ProcessCall): Promise<HandlerResult> {
    if (!pool.isClosed) return pool.call(call);
    const next = this.#parts.house.latest.get(pool.name);
    if (next === undefined || next.isClosed) {
      return Promise.reject(new ProcessFault(`process "${pool.name}" is gone`));
    }
    return next.call(call);
  }
}
