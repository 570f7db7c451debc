/**
 * Finds functions of processes: `NAME:FUNCTION` is one where a process has that name. A deployment
 * without processes loads nothing of them.
 */
import { suggest } from "../base/close-matches.ts";
import type { JsonRecord } from "../base/json-value.ts";
import type { Problem } from "../base/problem.ts";
import type { Handler } from "./handler.ts";
import type { ModuleLoader, ReferencePlace } from "./module-loader.ts";
import type { CallProcess } from "./processes/process-call.ts";

/** A function that there is, or why there is not. */
export type FoundFunction =
  | {
      readonly handler: Handler;
      readonly call: CallProcess;
      readonly signature?: JsonRecord | undefined;
    }
  | {
      readonly handler?: undefined;
      readonly call?: undefined;
      readonly fault: string;
      readonly hint?: string | undefined;
    };

/** The processes of a deployment. */
export interface ProcessFunctions {
  readonly names: readonly string[];
  find(process: string, name: string): FoundFunction;
}

/** A deployment without processes. */
export const NO_PROCESSES: ProcessFunctions = {
  names: [],
  find: (process) => ({ fault: `there is no process "${process}"` }),
};

const REFERENCE = /^([^:]*):(.*)$/s;

/** Loads functions of processes, and everything else by another loader. */
export function withProcesses(modules: ModuleLoader, processes: ProcessFunctions): ModuleLoader {
  return {
    async load(reference, place) {
      const [, process, name] = REFERENCE.exec(reference) ?? [];
      if (process === undefined || name === undefined) return modules.load(reference, place);
      if (!processes.names.includes(process)) {
        return { problems: [unknownProcess(process, place, processes.names)] };
      }
      const found = processes.find(process, name);
      if (found.handler !== undefined) return { ...found, problems: [] };
      const { fault: message, hint } = found;
      return { problems: [{ ...place, message, ...(hint === undefined ? {} : { hint }) }] };
    },
  };
}

function unknownProcess(process: string, place: ReferencePlace, names: readonly string[]): Problem {
  const message = `no [[processes]] has the name "${process}"`;
  const hint = suggest(process, names);
  return { ...place, message, ...(hint === undefined ? {} : { hint }) };
}
