/** `[[agntcy]]`: AGNTCY agents and the paths that serve them. */
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { Taking } from "../../dispatch/module/shared-sections.ts";
import type { Impact } from "../../endpoint/endpoint.ts";
import {
  agtpPath,
  choice,
  count,
  flag,
  list,
  optional,
  path,
  type Schema,
  scopeToken,
  table,
  text,
} from "../../schema/section-field.ts";

/** One `[[agntcy]]` entry with every default filled in. */
export interface AgntcyConfig {
  /** An absolute path. */
  readonly manifest: string;
  readonly base: string;
  readonly option?: string;
  readonly deferred: boolean;
  readonly allowHttp: boolean;
  readonly impact: Impact;
  readonly requiredScopes: readonly string[];
  readonly timeoutSeconds: number;
  readonly agentAnswers: boolean;
  readonly approverScope?: string;
  /** An absolute path. */
  readonly ca?: string;
}

export const agntcySection: Schema = list(
  table(
    "An AGNTCY agent and the path it is served on",
    {
      manifest: optional(path("", "Its manifest")),
      base: optional(agtpPath("The path of its endpoints")),
      option: optional(text("", "Deployment option by name; without it, the first")),
      deferred: flag(false, "true: look for the remote agent on first use, not at the start"),
      allow_http: flag(false, "true: plain http to an upstream on loopback"),
      impact: choice(
        "irreversible",
        ["informational", "reversible", "irreversible"],
        "The declared impact of a run",
      ),
      required_scopes: list(scopeToken(""), "What a caller needs"),
      timeout_seconds: count(300, "How long a run may take", 86_400),
      agent_answers: flag(
        false,
        "true: the caller that began a run answers what its manifest asks the agent; else people do",
      ),
      approver_scope: optional(
        scopeToken("A caller with this scope may answer what runs ask, as operators may"),
      ),
      ca: optional(path("", "Authorities to trust instead of the system's, PEM")),
    },
    ["manifest", "base"],
  ),
  "AGNTCY agents",
);

export interface AgntcySections extends Taking<"agents" | "limits" | "policies" | "server"> {
  readonly agntcy: readonly AgntcyConfig[];
}

export type AgntcyContext = ModuleContext<AgntcySections>;
