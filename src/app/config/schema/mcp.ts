/** The section of agtp-server.toml about MCP: its clients, and its servers behind contract. */
import {
  choice,
  count,
  flag,
  list,
  map,
  milliseconds,
  optional,
  path,
  type Schema,
  table,
  text,
  word,
} from "./field.ts";
import { secret } from "./words.ts";

const server = table(
  "An MCP server behind endpoints: either url or command",
  {
    name: word(
      "",
      "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$",
      "letters, digits, - and _",
      "How endpoints name it",
    ),
    url: optional(text("", "Streamable HTTP; https unless allow_http is true")),
    token: optional(secret("The bearer token that it wants; best taken from the environment")),
    ca: optional(path("", "Certificates to trust there instead of the system's, in PEM")),
    allow_http: flag(false, "Whether url may be plain HTTP"),
    command: optional(text("", "The program that serves on its standard input and output")),
    args: list(text("", "", { pattern: "^[^\\u0000]*$", expected: "a text" }), "Its arguments"),
    env: map(
      word("", "^[A-Za-z_][A-Za-z0-9_]*$", "the name of a variable", ""),
      secret(""),
      "Its variables, beside PATH, HOME and the like",
    ),
    cwd: path(".", "The directory that it runs in"),
    timeout_ms: milliseconds(30_000, "How long one call may take"),
    max_response_bytes: count(1_048_576, "How long one message of it may be", 1_073_741_824),
  },
  ["name"],
);

/** `[mcp]` */
export const mcp: Schema = table("MCP, on the listener of the HTTP sidecar", {
  enabled: flag(false, "Whether MCP clients are served; gateway.enabled must be true"),
  path: word(
    "/mcp",
    "^(?:/[A-Za-z0-9._~-]+)+$",
    "a path without parameters, such as /mcp",
    "Where MCP is served",
  ),
  tools: choice(
    "operator",
    ["operator", "all"],
    "Which endpoints are tools: the operator's, or the protocol's methods on \"/\" as well",
  ),
  anonymous: flag(false, "Whether a client without a token speaks as the sidecar's agent"),
  servers: list(server, "MCP servers behind endpoints"),
});
