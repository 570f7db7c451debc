/** The packs of OpenWOP agents as the configuration has them: read, judged, and nothing more. */
import { relative } from "node:path";
import type { Paced } from "../../base/paced.ts";
import type { Problem } from "../../base/problem.ts";
import type { OpenwopSections } from "./config.ts";
import type { InstalledPack } from "./installed-agent.ts";
import { readPackKeys } from "./pack-keys.ts";
import { loadingPacks } from "./packs/load-packs.ts";
import { Capabilities } from "./packs/peer-capabilities.ts";
import { modelFaultOf } from "./runtime/load-runtime.ts";

/** The packs, and the problems with them. */
interface ReadPacks {
  readonly packs: readonly InstalledPack[];
  readonly problems: readonly Problem[];
  /** The configuration itself names keys that cannot be had. */
  readonly blockers: readonly Problem[];
}

/** Reads them all, a pack a step. */
export function* readingPacks({ directory, file, openwop }: OpenwopSections): Paced<ReadPacks> {
  const { packsDir, installScope, satisfied, requireSignatures: isRequired } = openwop;
  const { keys, problems } = readPackKeys(openwop.trustedKeys, relative(directory, file));
  const capabilities = new Capabilities([
    ...satisfied,
    ...(openwop.reasoning.streaming ? ["agents.reasoning.streaming"] : []),
  ]);
  const loaded = yield* loadingPacks(
    { directory, packsDir, installScope },
    {
      ...{ capabilities, signatures: { trustedKeys: keys, isRequired } },
      modelFault: modelFaultOf(openwop.runtime),
    },
  );
  return {
    packs: loaded.packs,
    problems: loaded.problems,
    blockers: problems,
  };
}
