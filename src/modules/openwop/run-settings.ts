/** The keys of `[openwop]` that are about runs and the HTTP API, in the program's own names. */

import type { OpenwopSections } from "./config.ts";
import type { ApiKeyEntry } from "./http/api-keys.ts";
import type { RunLimits } from "./runs/run-limits.ts";

/** The settings of runs. */
export interface RunSettings {
  readonly workflowsDir: string;
  readonly apiKeys: readonly ApiKeyEntry[];
  readonly limits: RunLimits;
}

/** The section as its schema leaves it: every default filled in. */
interface WrittenSection {
  readonly workflows_dir: string;
  readonly api_keys: readonly {
    readonly sha256: string;
    readonly tenant: string;
    readonly scopes: readonly string[];
    readonly agtp_scopes: readonly string[];
  }[];
  readonly runs: {
    readonly concurrent: number;
    readonly unfinished_per_owner: number;
    readonly per_owner: number;
    readonly all: number;
    readonly events: number;
    readonly bytes: number;
    readonly depth: number;
    readonly children: number;
    readonly loop_iterations: number;
    readonly duration_seconds: number;
    readonly retention_seconds: number;
  };
}

/** Reads them of a configuration that was loaded. */
export function readRunSettings({ openwop }: Pick<OpenwopSections, "openwop">): RunSettings {
  const {
    workflows_dir: workflowsDir,
    api_keys: keys,
    runs,
  } = openwop as unknown as WrittenSection;
  return {
    workflowsDir,
    apiKeys: keys.map(({ sha256, tenant, scopes, agtp_scopes: agtpScopes }) => {
      return { sha256, tenant, scopes, agtpScopes };
    }),
    limits: {
      concurrent: runs.concurrent,
      unfinishedPerOwner: runs.unfinished_per_owner,
      perOwner: runs.per_owner,
      all: runs.all,
      eventsPerRun: runs.events,
      bytesPerRun: runs.bytes,
      depth: runs.depth,
      perTree: runs.children,
      loopIterations: runs.loop_iterations,
      durationMs: runs.duration_seconds * 1000,
      retentionMs: runs.retention_seconds * 1000,
    },
  };
}
