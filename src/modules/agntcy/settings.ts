/** `[[agntcy]]` as this folder works with it: times in milliseconds, and where each agent is named. */
import type { Impact } from "../../endpoint/endpoint.ts";
import type { AgntcySections } from "./config.ts";

/** One agent of the configuration. */
export interface AgntcySettings {
  /** Absolute. */
  readonly manifest: string;
  /** The path of its endpoints. */
  readonly base: string;
  readonly option: string | undefined;
  readonly isDeferred: boolean;
  readonly allowsHttp: boolean;
  readonly impact: Impact;
  readonly requiredScopes: readonly string[];
  readonly timeoutMs: number;
  /** True if who began a run may answer what its manifest says is asked of it. */
  readonly agentAnswers: boolean;
  /** The scope of agents that may answer beside the operators. */
  readonly approverScope: string | undefined;
  /** PEM file of the authorities to trust, absolute. */
  readonly ca: string | undefined;
  /** The key that problems with it are reported under. */
  readonly key: string;
}

/** Every agent, in the file's order. */
export function readAgntcySettings({
  agntcy,
}: Pick<AgntcySections, "agntcy">): readonly AgntcySettings[] {
  return agntcy.map(({ option, approverScope, ca, ...table }, index) => {
    const { manifest, base, impact, requiredScopes, allowHttp, agentAnswers } = table;
    return {
      ...{ manifest, base, option, impact, requiredScopes, allowsHttp: allowHttp },
      ...{ agentAnswers, approverScope, ca },
      isDeferred: table.deferred,
      timeoutMs: table.timeoutSeconds * 1000,
      key: `agntcy[${index}]`,
    };
  });
}
