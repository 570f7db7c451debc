/** The keys of `[openwop]` that are about runs and the HTTP API. */

import type { OpenwopSections } from "./config.ts";
import type { ApiKeyEntry } from "./http/api-keys.ts";
import type { RunLimits } from "./runs/run-limits.ts";

/** The settings of runs. */
export interface RunSettings {
  readonly workflowsDir: string;
  readonly apiKeys: readonly ApiKeyEntry[];
  readonly limits: RunLimits;
}

/** Reads them of a configuration that was loaded. */
export function readRunSettings({ openwop }: Pick<OpenwopSections, "openwop">): RunSettings {
  const { workflowsDir, apiKeys, runs } = openwop;
  const { concurrent, unfinishedPerOwner, perOwner, all, depth, loopIterations } = runs;
  return {
    ...{ workflowsDir, apiKeys },
    limits: {
      ...{ concurrent, unfinishedPerOwner, perOwner, all, depth, loopIterations },
      eventsPerRun: runs.events,
      bytesPerRun: runs.bytes,
      perTree: runs.children,
      durationMs: runs.durationSeconds * 1000,
      retentionMs: runs.retentionSeconds * 1000,
    },
  };
}
