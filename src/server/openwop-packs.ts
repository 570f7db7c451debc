/** The packs of OpenWOP agents as the configuration has them: read, judged, and nothing more. */
import { relative } from "node:path";
import type { InstalledPack } from "../agents/openwop/installed-agent.ts";
import { readPackKeys } from "../agents/openwop/pack-keys.ts";
import { loadPacks } from "../agents/openwop/packs/load-packs.ts";
import { Capabilities } from "../agents/openwop/packs/peer-capabilities.ts";
import type { OpenwopSettings } from "../agents/openwop/settings.ts";
import type { Config } from "../config/config.ts";
import type { Problem } from "../problem.ts";
import { modelFaultOf } from "./openwop-runtime.ts";

/** What was read. */
export interface ReadPacks {
  readonly packs: readonly InstalledPack[];
  readonly problems: readonly Problem[];
  /** False: the configuration itself names what cannot be had. */
  readonly isSound: boolean;
}

/** Reads them all. */
export function readPacks(config: Config, settings: OpenwopSettings): ReadPacks {
  const { directory, file } = config;
  const { packsDir, installScope, satisfied, requireSignatures: isRequired } = settings;
  const { keys, problems } = readPackKeys(settings.trustedKeys, relative(directory, file));
  const capabilities = new Capabilities([
    ...satisfied,
    ...(settings.reasoning.isStreaming ? ["agents.reasoning.streaming"] : []),
  ]);
  const loaded = loadPacks(
    { directory, packsDir, installScope },
    {
      ...{ capabilities, signatures: { trustedKeys: keys, isRequired } },
      modelFault: modelFaultOf(settings.runtime),
    },
  );
  return {
    packs: loaded.packs,
    problems: [...problems, ...loaded.problems],
    isSound: problems.length === 0,
  };
}
