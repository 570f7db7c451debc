/**
 * The current tools of a server: its list, its manifest and the caller's scopes, refreshed once
 * they are old. A client that was shown a list is notified when it changes.
 */
import { hash } from "node:crypto";
import { isRecord, textIn } from "../../base/json-value.ts";
import { isTooDeep } from "../../base/nesting.ts";
import type { ClientRequest, ClientResponse } from "../../client/agtp-client.ts";
import { AgtpClientError } from "../../client/client-error.ts";
import { compileGrants } from "../../identity/authority-scope.ts";
import { MANIFEST_TYPE } from "../../identity/manifest-signature.ts";
import {
  APPROVED_CALL,
  APPROVED_CALL_TOOL,
  PROPOSE,
  PROPOSE_AT_ONCE,
} from "../../modules/mcp/contracts/own-tools.ts";
import { withOutput } from "../../modules/mcp/tools/tool-description.ts";
import { byName as inOrder, type ListedTool } from "../../modules/mcp/tools/toolbox.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { refusalText } from "./response-result.ts";
import {
  readServerTools,
  ServerContracts,
  type ServerTool,
  type ServerTools,
} from "./server-tools.ts";

interface ServerView {
  readonly tools: ServerTools;
  readonly serverId: string | undefined;
}

interface ListParts {
  ask(request: ClientRequest): Promise<ClientResponse>;
  readonly agentId: string | undefined;
  /** The scopes to claim; undefined for those that the agent holds. */
  readonly scopes: readonly string[] | undefined;
  tell(message: string): void;
  /** Milliseconds. */
  now(): number;
  /** The interval at which a list that a client was shown is checked for changes. */
  readonly lookMs: number;
}

const TIMEOUT_MS = 30_000;
const MANIFEST: ClientRequest = {
  ...{ method: "DISCOVER", path: "/", timeoutMs: TIMEOUT_MS },
  headers: [["Accept", MANIFEST_TYPE]],
};
/** The minimum time between refreshes because of a doubt. */
const DOUBT_MS = 1_000;

export class ServerList {
  readonly #parts: ListParts;
  #known: { readonly view: Promise<ServerView>; readonly at: number } | undefined;
  readonly #contracts: ServerContracts;
  #manifest: ServerManifest = NO_MANIFEST;
  #contractIds = "";
  #shown: string | undefined;
  #onChanged: () => void = () => undefined;
  #timer: NodeJS.Timeout | undefined;
  #doubt: NodeJS.Timeout | undefined;

  constructor(parts: ListParts) {
    this.#parts = parts;
    this.#contracts = new ServerContracts(parts);
  }

  /** The tools, at most `maxAgeMs` old. */
  view(maxAgeMs: number): Promise<ServerView> {
    const at = this.#parts.now();
    if (this.#known !== undefined && at - this.#known.at < maxAgeMs) return this.#known.view;
    const view = this.#load();
    const asked = { view, at };
    this.#known = asked;
    // Discards the failure, so that the next call tries again.
    view.catch(() => {
      if (this.#known === asked) this.#known = undefined;
    });
    return view;
  }

  /** Sets the listener for tools that differ from those last shown. */
  watch(onChanged: () => void): void {
    this.#onChanged = onChanged;
  }

  /** Remembers the tools that a client was shown, and begins to check them for changes. */
  show({ tools }: ServerView): void {
    this.#shown = digestOf(tools);
    this.#timer ??= setInterval(() => void this.#look(), this.#parts.lookMs).unref();
  }

  /** Refreshes the list soon, because an answer did not fit it. */
  doubt(): void {
    if (this.#shown === undefined) return;
    this.#doubt ??= setTimeout(() => {
      this.#doubt = undefined;
      this.view(0).catch(() => undefined);
    }, DOUBT_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    clearTimeout(this.#doubt);
    this.#shown = undefined;
  }

  /** Compares versions of the manifest and ids of contracts; an unreachable server is checked again later. */
  async #look(): Promise<void> {
    const { version } = this.#manifest;
    const asking = Promise.all([this.#askManifest(), this.#contracts.ids()]);
    const [manifest, contractIds] = await asking.catch(() => []);
    if (manifest === undefined) return;
    const isSame = version !== undefined && manifest.version === version;
    if (isSame && contractIds === this.#contractIds) return;
    await this.view(0).catch(() => undefined);
  }

  async #load(): Promise<ServerView> {
    const [listed, manifest, scopes, contractIds] = await Promise.all([
      this.#parts.ask({ method: "DISCOVER", path: "/tools", timeoutMs: TIMEOUT_MS }),
      this.#askManifest(),
      this.#askScopes(),
      this.#contracts.ids(),
    ]);
    this.#manifest = manifest;
    this.#contractIds = contractIds;
    const isOpen = scopes === undefined;
    const grants = compileGrants(scopes ?? []);
    const tools =
      listed.status === 200
        ? readServerTools(listed.body, {
            outputOf: (pair) => manifest.outputs.get(pair),
            isGranted: (required) =>
              isOpen || required.every((scope) => grants.covers(String(scope))),
          })
        : undefined;
    if (tools === undefined) throw noList(listed);
    const { leftOut, byName } = tools;
    if (leftOut > 0) this.#parts.tell(`${leftOut} tools of the server are none that MCP can call`);
    const isTaken = (name: string): boolean => byName.has(name) || OWN_NAMES.has(name);
    const own = contractIds === "" ? [] : await this.#contracts.tools(isTaken);
    const all = withContracts(tools, own);
    this.#compare(all);
    return { tools: all, serverId: manifest.serverId };
  }

  #compare(tools: ServerTools): void {
    if (this.#shown === undefined) return;
    const digest = digestOf(tools);
    if (digest === this.#shown) return;
    this.#shown = digest;
    this.#onChanged();
  }

  /** The manifest; a server that does not show it to the caller may still have tools. */
  async #askManifest(): Promise<ServerManifest> {
    const response = await this.#parts.ask(MANIFEST);
    return readManifest(response) ?? NO_MANIFEST;
  }

  async #askScopes(): Promise<readonly string[] | undefined> {
    const { scopes, agentId } = this.#parts;
    if (scopes !== undefined || agentId === undefined) return scopes;
    const path = `/agents/${encodeURIComponent(agentId)}`;
    return readScopes(await this.#parts.ask({ method: "FETCH", path, timeoutMs: TIMEOUT_MS }));
  }
}

function withContracts(tools: ServerTools, own: readonly ServerTool[]): ServerTools {
  if (own.length === 0) return tools;
  const byName = new Map([...tools.byName, ...own.map((one) => [one.name, one] as const)]);
  return { ...tools, byName, sorted: [...tools.sorted, ...own].sort(inOrder) };
}

function noList(response: ClientResponse): AgtpClientError {
  const what = response.status === 200 ? "no list of tools" : refusalText(response);
  return new AgtpClientError("ERR_AGTP_RESPONSE", `DISCOVER /tools was answered: ${what}`);
}

function digestOf({ sorted }: ServerTools): string {
  const described = sorted.map(({ description }) => description.current);
  return hash("sha256", JSON.stringify(described));
}

/** The part of a manifest that describes tools. */
interface ServerManifest {
  readonly serverId: string | undefined;
  /** Changes whenever the manifest changes. */
  readonly version: string | undefined;
  /** Output schemas by method and path. */
  readonly outputs: ReadonlyMap<string, JsonSchema>;
}

/** Stands in for an unavailable manifest. */
const NO_MANIFEST: ServerManifest = {
  serverId: undefined,
  version: undefined,
  outputs: new Map(),
};

/**
 * Reads the manifest, which is untrusted, for the output schemas; undefined if the answer is not
 * one.   AGTP-API §8
 */
function readManifest({ status, headers, body }: ClientResponse): ServerManifest | undefined {
  if (status !== 200 || !isRecord(body)) return undefined;
  const { endpoints, document_version: version } = body;
  if (!Array.isArray(endpoints) || isTooDeep(body)) return undefined;
  const outputs = new Map<string, JsonSchema>();
  for (const endpoint of endpoints) {
    if (!isRecord(endpoint)) continue;
    const { method, path, output_schema: output } = endpoint;
    if (isRecord(output)) outputs.set(`${String(method)} ${String(path)}`, output);
  }
  return {
    serverId: headers.get("server-id"),
    // The tag depends on the octets, whereas an operator may fix the version.
    version: headers.get("etag") ?? textIn(version),
    outputs,
  };
}

/** Reads the scopes of an identity document; undefined if it has none. */
function readScopes({ status, body }: ClientResponse): readonly string[] | undefined {
  if (status !== 200 || !isRecord(body)) return undefined;
  const { requires, scopes_accepted: accepted } = body;
  const held = isRecord(requires) ? (requires["scopes"] ?? accepted) : accepted;
  if (!Array.isArray(held)) return undefined;
  return held.filter((scope) => typeof scope === "string");
}

/** The program's own tools, as clients see them. */
export const OWN_TOOLS: readonly ListedTool[] = [
  { name: APPROVED_CALL, description: withOutput(APPROVED_CALL_TOOL, {}) },
  { name: PROPOSE, description: withOutput(PROPOSE_AT_ONCE, {}) },
];

const OWN_NAMES: ReadonlySet<string> = new Set(OWN_TOOLS.map(({ name }) => name));
