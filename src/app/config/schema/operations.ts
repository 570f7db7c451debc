/** The sections of agtp-server.toml about what a server keeps, and what it offers beside AGTP. */
import {
  choice,
  flag,
  list,
  map,
  optional,
  type Properties,
  path,
  port,
  seconds,
  table,
  text,
} from "./field.ts";
import { mcp } from "./mcp.ts";
import {
  agtpPath,
  host,
  methodName,
  origin,
  recipientName,
  safeUrl,
  secret,
  webUrl,
} from "./words.ts";

const synthesis = table("Proposed endpoints and their contracts", {
  async_evaluation: flag(false, "true: PROPOSE answers 261 and is polled"),
  session_ttl_seconds: seconds(86_400, "How long a session's contract lives at most"),
  persistent_default_seconds: seconds(604_800, "How long a persistent contract lives unless asked"),
  persistent_max_seconds: seconds(2_592_000, "How long a persistent contract lives at most"),
});

const store = table("Where contracts, records and runs are kept", {
  driver: choice("sqlite", ["sqlite", "memory", "postgres"], "memory forgets at the end"),
  path: path(".agtp/state.db", "The database file of sqlite"),
  url: optional(
    secret("The database of postgres; its password is best taken from the environment"),
  ),
});

const gateway = table("The HTTP sidecar", {
  enabled: flag(false, "Whether HTTP clients are served as well"),
  host: host("127.0.0.1", "Address to listen on"),
  port: port(8080, "TCP port to listen on; 0 takes any free one"),
  agent: optional(text("", "Name of the agent it speaks as; without it, one the server issues")),
  cert: optional(path("", "Certificate chain in PEM; without cert and key, plain HTTP")),
  key: optional(path("", "Private key of the certificate, in PEM")),
  allow_plain_http: flag(false, "Whether plain HTTP may leave this machine, to a proxy with TLS"),
  base_url: optional(webUrl("Where clients find it, if not at host and port")),
  cors_origins: list(origin(""), "Origins whose pages may call it; without any, no page may"),
  hosts: list(
    host("", ""),
    "Names it is called by beside its base_url; on loopback no other site's, elsewhere any unless given",
  ),
});

const metrics = table("Prometheus metrics over HTTP", {
  enabled: flag(false, "Whether metrics are served"),
  host: host("127.0.0.1", "Address to listen on"),
  port: port(9464, "TCP port to listen on; 0 takes any free one"),
});

const webhooks = table("Where people are told", {
  escalations: optional(safeUrl("Receives escalations as JSON")),
  secret: optional(secret("Signs what is sent there; best taken from the environment")),
  ca: optional(path("", "Certificates to trust there instead of the system's, in PEM")),
  recipients: map(
    recipientName,
    safeUrl(""),
    "Where NOTIFY reaches people, by the name after webhook:",
  ),
});

const groups = map(
  recipientName,
  list(text("", "", { maxLength: 512 }), "Names or Agent-IDs of agents, or webhook:NAME"),
  "Who is notified together, by the name after group:",
);

const apis = list(
  table(
    "An HTTP API beside this server",
    {
      name: optional(text("", "Its name")),
      description: optional(text("", "What it is")),
      base_url: optional(webUrl("Where it is")),
      http_documentation: optional(webUrl("Where it is documented")),
    },
    ["name"],
  ),
  "HTTP APIs listed by DISCOVER /apis and in the manifest",
);

const hostedProtocols = list(
  table(
    "A protocol spoken through an endpoint",
    {
      protocol: optional(text("", "Its name")),
      method: optional(methodName("The endpoint's method")),
      path: optional(agtpPath("The endpoint's path")),
    },
    ["protocol", "method", "path"],
  ),
  "Protocols spoken through endpoints, listed in the manifest",
);

/** Sections by name, in the order of the sample file. */
export const operationSections: Properties = {
  synthesis,
  signing: table("The server's signing key", {
    key: optional(path("", "Ed25519 private key in PEM; without it, records have alg none")),
  }),
  attribution: table("Attribution-Records", {
    enabled: flag(true, "Whether responses carry an Attribution-Record"),
  }),
  store,
  gateway,
  mcp,
  metrics,
  webhooks,
  groups,
  apis,
  hosted_protocols: hostedProtocols,
};
