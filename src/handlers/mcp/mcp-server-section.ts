/** `[[mcp.servers]]`: MCP servers behind endpoints. */
import {
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
} from "../../schema/section-field.ts";
import { secret } from "../../schema/section-words.ts";

/** `[[mcp.servers]]` */
export interface McpServerConfig {
  readonly name: string;
  /** Either it or `command`. */
  readonly url?: string;
  readonly token?: string;
  /** Absolute. */
  readonly ca?: string;
  readonly allowHttp: boolean;
  readonly command?: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Absolute. */
  readonly cwd: string;
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
}

/** Its schema. */
export const mcpServerSection: Schema = table(
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
