/** `[[agntcy]]` as this folder works with it; the schema of the configuration has checked it. */
import { IMPACTS, type Impact } from "../../endpoint/endpoint.ts";
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
  /** Where problems with it are reported. */
  readonly key: string;
}

/** Every agent, in the file's order. */
export function readAgntcySettings({
  agntcy,
}: Pick<AgntcySections, "agntcy">): readonly AgntcySettings[] {
  return agntcy.map((table, index) => {
    const text = (name: string): string | undefined => {
      const value = table[name];
      return typeof value === "string" ? value : undefined;
    };
    const scopes = table["required_scopes"];
    return {
      manifest: text("manifest") ?? "",
      base: text("base") ?? "",
      option: text("option"),
      isDeferred: table["deferred"] === true,
      allowsHttp: table["allow_http"] === true,
      impact: IMPACTS.find((one) => one === table["impact"]) ?? "irreversible",
      requiredScopes: Array.isArray(scopes) ? scopes.map(String) : [],
      timeoutMs: Number(table["timeout_seconds"]) * 1000,
      agentAnswers: table["agent_answers"] === true,
      approverScope: text("approver_scope"),
      ca: text("ca"),
      key: `agntcy[${index}]`,
    };
  });
}
