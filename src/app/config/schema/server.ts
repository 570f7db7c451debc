/** The sections of agtp-server.toml about the server itself: where it listens and what it loads. */
import {
  choice,
  count,
  milliseconds,
  optional,
  type Properties,
  path,
  port,
  table,
  text,
  word,
} from "./field.ts";
import { host } from "./words.ts";

const MAX_BYTES = 1024 ** 3;
const MAX_TOTAL_BYTES = 1024 ** 4;

const server = table(
  "Who this server is and where it listens",
  {
    server_id: optional(
      word(
        "",
        "^[\\x21-\\x7e]{1,253}$",
        "up to 253 visible ASCII characters",
        "Sent as Server-ID on every response, and in the manifest",
      ),
    ),
    operator: optional(text("", "Who runs the server, as the manifest says it")),
    contact: optional(text("", "Where to reach the operator, as the manifest says it")),
    domain: optional(text("", "The domain the server speaks for, as the manifest says it")),
    host: host(
      "127.0.0.1",
      "Address to listen on; beyond loopback, [tls] and [policies.identity] must allow it",
    ),
    port: port(4480, "TCP port to listen on; 0 takes any free one"),
    document_version: optional(
      text("", "Version of the manifest; without it, made from its content"),
    ),
    on_invalid: choice(
      "skip",
      ["skip", "fail"],
      "A bad endpoint, recipe, agent or pack: skip it and serve the rest, or fail the start",
    ),
  },
  ["server_id"],
);

const tls = table("Transport security; TLS 1.3 only", {
  cert: optional(
    path(
      "",
      "Certificate chain in PEM; without cert and key, one for loopback is made under .agtp/tls",
    ),
  ),
  key: optional(path("", "Private key of the certificate, in PEM")),
  client_auth: choice(
    "none",
    ["none", "optional", "required"],
    "Whether agents are asked for a certificate, and whether they must have one",
  ),
  client_ca: optional(path("", "CAs that agents' certificates are checked against, in PEM")),
});

const limits = table("Bounds on what one client, or all of them, may take", {
  request_line_bytes: count(8192, "Longest request line", MAX_BYTES),
  header_bytes: count(65_536, "Longest header section", MAX_BYTES),
  header_count: count(128, "Most header fields of a request", 65_536),
  body_bytes: count(1_048_576, "Longest request body", MAX_BYTES, 0),
  header_timeout_ms: milliseconds(
    10_000,
    "From the first byte of a request to the end of its headers",
  ),
  body_timeout_ms: milliseconds(30_000, "From the end of the headers to the end of the body"),
  idle_timeout_ms: milliseconds(60_000, "How long a connection without a request stays open"),
  handler_timeout_ms: milliseconds(30_000, "How long a handler may take"),
  max_connections: count(10_000, "Most open connections", 1_000_000),
  max_connections_per_address: count(1000, "Most open connections from one address", 1_000_000),
  max_pipelined: count(64, "Most requests of a connection in progress; further ones wait", 65_536),
  drain_timeout_ms: milliseconds(
    10_000,
    "How long a stopping server lets running requests finish",
    0,
  ),
  requests_per_second: count(
    0,
    "Requests of one agent, or of one address without an agent; 0: no limit",
    1_000_000,
    0,
  ),
  work_ms_per_second: count(
    200,
    "Time of the loop, in slices over a millisecond, of one agent or one address; 0: no limit",
    1000,
    0,
  ),
  send_buffer_bytes: count(
    16_777_216,
    "What may wait to be sent on one connection; beyond it nothing more is read from it",
    MAX_BYTES,
  ),
  send_buffer_total_bytes: count(
    268_435_456,
    "What may wait to be sent on all connections; beyond it the slowest readers are dropped",
    MAX_TOTAL_BYTES,
  ),
});

const agents = table("The agents this server knows", {
  dir: path("agents", "Directory of *.agent.json and *.genesis.json"),
  disclosure: choice(
    "public",
    ["public", "authenticated", "private"],
    "Who is shown the hosted agents: anybody, known agents, or nobody",
  ),
  disclosure_notice: optional(text("", "What the manifest says to those who are not shown them")),
  default: optional(text("", "Name of the agent that is addressed when a request names none")),
});

/** Sections by name, in the order of the sample file. */
export const serverSections: Properties = {
  server,
  tls,
  limits,
  catalog: table("The method catalog", {
    file: path("catalog/methods.json", "The catalog of approved methods"),
  }),
  endpoints: table("Endpoint files", {
    dir: path("endpoints", "Directory of endpoint files, searched recursively"),
  }),
  recipes: table("Composition recipes", { dir: path("recipes", "Directory of recipe files") }),
  handlers: table("Handler modules", {
    root: path(".", "Dotted handler paths start here; nothing outside is reachable"),
  }),
  agents,
};
