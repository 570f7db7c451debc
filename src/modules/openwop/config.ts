/** `[openwop]`: packs of agents, workflows, and the limits of their runs. */
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { Taking } from "../../dispatch/module/shared-sections.ts";
import {
  choice,
  count,
  credential,
  dottedPath,
  flag,
  list,
  map,
  optional,
  path,
  type Schema,
  safeUrl,
  scopeToken,
  seconds,
  table,
  text,
  word,
} from "../../schema/section-field.ts";

/** How much of an agent's reasoning is shown. */
export const VERBOSITIES = ["summary", "full", "off"] as const;

export type Verbosity = (typeof VERBOSITIES)[number];

/** `[openwop]`, with every default filled in. */
export interface OpenwopConfig {
  /** An absolute path. */
  readonly packsDir: string;
  readonly workflowsDir: string;
  readonly satisfied: readonly string[];
  readonly installScope: "host" | "tenant";
  readonly tenant: string;
  readonly requireSignatures: boolean;
  readonly conformance: boolean;
  readonly apiKeys: readonly OpenwopApiKey[];
  /** Absolute paths of the key files, by publicKeyRef. */
  readonly trustedKeys: Readonly<Record<string, string>>;
  /** By agent id. */
  readonly agents: Readonly<Record<string, { readonly scopes: readonly string[] }>>;
  readonly reasoning: {
    readonly verbosity: Verbosity;
    readonly tokenLimit: number;
    readonly streaming: boolean;
  };
  readonly runs: RunLimits;
  readonly runtime: OpenwopRuntimeConfig;
}

/** One of `api_keys`. */
export interface OpenwopApiKey {
  /** Lower-case hex. */
  readonly sha256: string;
  readonly tenant: string;
  readonly scopes: readonly string[];
  readonly agtpScopes: readonly string[];
}

/** `[openwop.runs]`, described by the schema below; limits that discovery advertises are enforced. */
export interface RunLimits {
  readonly concurrent: number;
  readonly unfinishedPerOwner: number;
  readonly perOwner: number;
  readonly all: number;
  readonly events: number;
  readonly bytes: number;
  readonly depth: number;
  readonly children: number;
  readonly loopIterations: number;
  readonly durationSeconds: number;
  readonly waitingSeconds: number;
  readonly retentionSeconds: number;
}

/** `[openwop.runtime]`; a configuration rule ensures that each kind has the keys it needs. */
interface OpenwopRuntimeConfig {
  readonly kind: "deterministic" | "openai-compatible" | "function";
  readonly baseUrl?: string;
  readonly apiKey?: string;
  /** An absolute path. */
  readonly ca?: string;
  readonly function?: string;
  readonly models: Readonly<Record<string, string>>;
  readonly timeoutSeconds: number;
  readonly requestTimeoutSeconds: number;
  readonly retries: number;
  readonly maxToolCalls: number;
  readonly toolCallsPerMinute: number;
}

const anyName = text("", "");

const apiKey = table(
  "A bearer key of the HTTP API; the key itself is never in a file",
  {
    sha256: optional(word("", "^[0-9a-f]{64}$", "64 lower-case hex digits", "SHA-256 of the key")),
    tenant: optional(text("", "The tenant whose runs it sees")),
    scopes: list(scopeToken(""), "What it may do over HTTP"),
    agtp_scopes: list(scopeToken(""), "AGTP scopes that its runs' tool calls hold"),
  },
  ["sha256", "tenant"],
);

const runtime = table("Who takes an agent's turn", {
  kind: choice(
    "deterministic",
    ["deterministic", "openai-compatible", "function"],
    "A scripted turn, a chat-completions API, or a function of yours",
  ),
  base_url: optional(safeUrl("The chat-completions API")),
  api_key: optional(credential("Its key; best taken from the environment")),
  ca: optional(path("", "Certificates to trust there instead of the system's, in PEM")),
  function: optional(dottedPath("The function, under [handlers] root")),
  timeout_seconds: count(120, "How long a turn may take", 86_400),
  request_timeout_seconds: count(60, "How long a model may say nothing", 3600),
  retries: count(2, "How often a model that is busy or gone is asked again", 10, 0),
  max_tool_calls: count(16, "How many tools one turn may call", 256),
  tool_calls_per_minute: count(
    120,
    "Calls of one tool for one principal; 0 is no limit",
    100_000,
    0,
  ),
  models: map(anyName, text("", ""), "Model name by model class; default for the others"),
});

const reasoning = table("What is shown of how agents reason", {
  verbosity: choice("summary", VERBOSITIES, "How much, unless a run says otherwise"),
  token_limit: count(512, "Tokens of a summary", 100_000),
  streaming: flag(false, "Whether it is shown while it arrives"),
});

const runs = table("How much runs may take", {
  concurrent: count(64, "Runs that are executed at once; others are pending", 4096),
  unfinished_per_owner: count(256, "Runs of one owner that are not over", 100_000),
  per_owner: count(10_000, "Runs of one owner that are kept", 1_000_000),
  all: count(100_000, "Runs of everybody that are kept", 1_000_000),
  events: count(10_000, "Events of one run", 1_000_000),
  bytes: count(33_554_432, "Octets of all events of one run", 1_073_741_824),
  depth: count(8, "How deep sub-workflows are nested", 64),
  children: count(256, "Runs of sub-workflows that one run begins, at any depth", 10_000),
  loop_iterations: count(100, "How often one loop of a run is taken", 10_000),
  duration_seconds: count(3600, "How long a run is executed; waiting does not count", 86_400),
  waiting_seconds: seconds(2_592_000, "How long a run waits for an answer, or stays paused"),
  retention_seconds: seconds(2_592_000, "How long a run that is over is kept"),
});

export const openwopSection: Schema = table("OpenWOP agent packs and workflows", {
  packs_dir: path("agents/openwop", "Directory of unpacked agent packs"),
  workflows_dir: path("agents/openwop/workflows", "Directory of workflow definitions"),
  satisfied: list(anyName, "Peer capabilities this host has beyond its own"),
  install_scope: choice(
    "host",
    ["host", "tenant"],
    "Packs for every tenant, or one directory each",
  ),
  tenant: text("default", "The tenant that owns the runs of AGTP callers"),
  require_signatures: flag(false, "Whether a pack must be signed with a trusted key"),
  conformance: flag(
    false,
    "The mock agent and the test seams of the public suite; never in production",
  ),
  api_keys: list(apiKey, "Bearer keys of the HTTP API"),
  trusted_keys: map(anyName, path("", ""), "Key file by a pack's publicKeyRef"),
  agents: map(
    anyName,
    table("What one agent may do", {
      scopes: list(scopeToken(""), "Scopes granted to its tool calls"),
    }),
    "Grants by agent id",
  ),
  reasoning,
  runs,
  runtime,
});

/** The configuration sections that this module takes. */
export interface OpenwopSections
  extends Taking<"agents" | "limits" | "policies" | "server" | "store"> {
  readonly openwop: OpenwopConfig;
  readonly webhooks: { readonly secret?: string };
}

export type OpenwopContext = ModuleContext<OpenwopSections>;
