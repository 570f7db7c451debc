/** How an MCP server behind this one is reached: an entry of `[[mcp.servers]]`, checked. */

/** Over Streamable HTTP. */
export interface McpHttpPlace {
  readonly kind: "http";
  readonly url: string;
  /** A bearer token; a secret. */
  readonly token?: string;
  /** PEM text to trust instead of the system's CAs. */
  readonly ca?: string;
}

/** As a child process, over its standard input and output. */
export interface McpCommandPlace {
  readonly kind: "command";
  readonly command: string;
  readonly args: readonly string[];
  /** Beside what any child gets: PATH, HOME and the like. Values are secrets. */
  readonly env: Readonly<Record<string, string>>;
  /** Absolute. */
  readonly cwd: string;
}

/** One server. */
export interface McpServerSettings {
  readonly name: string;
  readonly place: McpHttpPlace | McpCommandPlace;
  /** Of one request, the connecting included. */
  readonly timeoutMs: number;
  /** Of one message that comes back. */
  readonly maxResponseBytes: number;
}
