/** A daemon that serves MCP, and the library's client of either protocol. */
import {
  Client,
  type ClientOptions,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { onTestFinished } from "vitest";
import type { DeploymentFiles } from "./deployment.ts";
import { gatewayFiles, openGateway, type Tables, type TestGateway } from "./gateway.ts";

/** The protocols that are served. */
export const VERSIONS = ["2026-07-28", "2025-11-25"] as const;
/** One of them. */
export type McpVersion = (typeof VERSIONS)[number];

/** How a client asks. */
interface ClientSetup {
  readonly token?: string;
  readonly options?: ClientOptions;
  /** Adds handlers before the client connects. */
  prepare?(client: Client): void;
}

/** A daemon with MCP clients. */
export interface TestMcp extends TestGateway {
  readonly url: URL;
  connectClient(version: McpVersion, setup?: ClientSetup): Promise<Client>;
}

/** The order desk with MCP, which anybody may call unless told. */
export function mcpFiles(tables: Tables = {}, files: DeploymentFiles = {}): DeploymentFiles {
  return gatewayFiles({ mcp: { enabled: true, anonymous: true }, ...tables }, files);
}

/** Starts the daemon for the running test. */
export async function openMcp(files: DeploymentFiles = mcpFiles()): Promise<TestMcp> {
  const server = await openGateway(files);
  const url = new URL(`http://127.0.0.1:${server.port}/mcp`);
  return {
    ...server,
    url,
    connectClient: (version, setup) => connectMcp(url, version, setup),
  };
}

/** Connects a client that speaks one protocol and no other. */
export async function connectMcp(
  url: URL,
  version: McpVersion,
  { token, options, prepare }: ClientSetup = {},
): Promise<Client> {
  const client = new Client(
    { name: "a-test", version: "1.0.0" },
    {
      ...options,
      versionNegotiation: { mode: version === "2025-11-25" ? "legacy" : { pin: version } },
    },
  );
  prepare?.(client);
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return client;
}

/** How a message is sent without the library. */
interface RawSetup {
  readonly token?: string;
  readonly capabilities?: object;
  readonly signal?: AbortSignal;
}

/** Sends a message of the current protocol; the library's client would judge the answer. */
export function postMcp(
  server: Pick<TestMcp, "fetch">,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  { token, capabilities = {}, signal }: RawSetup = {},
): Promise<Response> {
  const _meta = {
    ...(params["_meta"] as object | undefined),
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "a-test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": capabilities,
  };
  const name = params["name"] ?? params["taskId"] ?? params["uri"];
  return server.fetch("/mcp", {
    method: "POST",
    ...(signal === undefined ? {} : { signal }),
    headers: {
      ...{ "content-type": "application/json", "mcp-protocol-version": "2026-07-28" },
      ...{ accept: "application/json, text/event-stream", "mcp-method": method },
      ...(typeof name === "string" ? { "mcp-name": name } : {}),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }),
  });
}
