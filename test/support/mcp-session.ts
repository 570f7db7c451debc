/** Messages of both protocols, written out: what a client sends that keeps to no rule. */
import type { TestMcp } from "./mcp.ts";

/** The part of a daemon that is spoken to. */
type Spoken = Pick<TestMcp, "fetch">;

export const ACCEPT = "application/json, text/event-stream";

/** A request of JSON-RPC. */
export function message(method: string, params: object = {}, id: number | string = 1): object {
  return { jsonrpc: "2.0", id, method, params };
}

/** A request of 2026-07-28. */
export function current(
  method: string,
  params: { readonly _meta?: object; readonly [name: string]: unknown } = {},
  capabilities: object = {},
): object {
  const _meta = {
    ...params._meta,
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "a-test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": capabilities,
  };
  return message(method, { ...params, _meta });
}

/** Sends a body as it is. */
export function post(
  { fetch }: Spoken,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
): Promise<Response> {
  const init = {
    method: "POST",
    headers: { "content-type": "application/json", accept: ACCEPT, ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  };
  return fetch("/mcp", signal === undefined ? init : { ...init, signal });
}

/** The header fields with which 2026-07-28 says what is in the body. */
export function currentFields(method: string, name?: string): Record<string, string> {
  return {
    ...{ "mcp-protocol-version": "2026-07-28", "mcp-method": method },
    ...(name === undefined ? {} : { "mcp-name": name }),
  };
}

/** An answer of JSON-RPC. */
export interface Answered {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data?: Readonly<Record<string, unknown>>;
  };
}

/** The last message of an answer, whether it was streamed or not. */
export async function messageOf(response: Response): Promise<Answered> {
  const text = await response.text();
  const last = [...text.matchAll(/^data: (\{.*)$/gm)].at(-1)?.[1];
  return JSON.parse(last ?? text) as Answered;
}

/** Begins a session of 2025-11-25; its id. */
export async function beginSession(
  server: Spoken,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const clientInfo = { name: "a-test", version: "1" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const response = await post(server, message("initialize", params), headers);
  const answer = await response.text();
  const id = response.headers.get("mcp-session-id");
  if (response.status !== 200 || id === null) throw new Error(`${response.status}: ${answer}`);
  return id;
}

/** The header fields of a message within a session. */
export function inSession(id: string, version = "2025-11-25"): Record<string, string> {
  return { "mcp-session-id": id, "mcp-protocol-version": version };
}
