/** The sections of agtp-server.toml about agents of other systems: OpenWOP, AGNTCY and agentcli. */
import {
  choice,
  count,
  flag,
  list,
  map,
  optional,
  type Properties,
  path,
  seconds,
  table,
  text,
  word,
} from "./field.ts";
import { agtpPath, dottedPath, safeUrl, scopeToken, secret } from "./words.ts";

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
  api_key: optional(secret("Its key; best taken from the environment")),
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
  verbosity: choice("summary", ["summary", "full", "off"], "How much, unless a run says otherwise"),
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
  retention_seconds: seconds(2_592_000, "How long a run that is over is kept"),
});

const openwop = table("OpenWOP agent packs and workflows", {
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

const agntcy = list(
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
        "true: who began a run answers what its manifest asks the agent; else people do",
      ),
      approver_scope: optional(scopeToken("Who holds it may answer what runs ask, like operators")),
      ca: optional(path("", "Authorities to trust instead of the system's, PEM")),
    },
    ["manifest", "base"],
  ),
  "AGNTCY agents",
);

const LEVELS = ["untrusted", "restricted", "supervised", "autonomous"];
const trustLevel = (tier: number) =>
  optional(choice("untrusted", LEVELS, `agentcli level of callers of tier ${tier}`));

const agentcli = table("agentcli workflows", {
  manifests: list(path("", ""), "Manifest files; loading one exposes nothing"),
  expose: list(anyName, "Workflow ids whose shell tasks become endpoints"),
  prompt_runtime: optional(
    word(
      "",
      "^agntcy:/[^\\s]*$",
      'the path of an AGNTCY agent, such as "agntcy:/mailcomposer"',
      'Who answers prompt tasks, such as "agntcy:/mailcomposer"',
    ),
  ),
  trust_levels: table("agentcli level by AGTP trust tier; no default is safe to assume", {
    "1": trustLevel(1),
    "2": trustLevel(2),
    "3": trustLevel(3),
  }),
});

/** Sections by name, in the order of the sample file. */
export const agentSystemSections: Properties = { openwop, agntcy, agentcli };
