/** The packs of OpenWOP agents as the configuration has them: read, judged, and nothing more. */
import { relative } from "node:path";
import type { Config } from "../base/config.ts";
import type { Problem } from "../base/problem.ts";
import type { InstalledPack } from "../modules/openwop/installed-agent.ts";
import { readPackKeys } from "../modules/openwop/pack-keys.ts";
import { loadPacks } from "../modules/openwop/packs/load-packs.ts";
import { Capabilities } from "../modules/openwop/packs/peer-capabilities.ts";
import type { OpenwopSettings } from "../modules/openwop/settings.ts";
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
