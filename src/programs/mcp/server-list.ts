/**
 * The tools of a server as they are now: its list, its manifest and the scopes of the caller, asked for
 * again once they are old. Who has been shown a list hears when it has become another one.
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
  /** The scopes that it claims; undefined: those that it holds. */
  readonly scopes: readonly string[] | undefined;
  tell(message: string): void;
  /** Milliseconds. */
  now(): number;
  /** How often a list that somebody was shown is looked at. */
  readonly lookMs: number;
}

const TIMEOUT_MS = 30_000;
const MANIFEST: ClientRequest = {
  ...{ method: "DISCOVER", path: "/", timeoutMs: TIMEOUT_MS },
  headers: [["Accept", MANIFEST_TYPE]],
};
/** A doubt is followed up at most so often. */
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

  /** The tools, as they were so long ago at most. */
  view(maxAgeMs: number): Promise<ServerView> {
    const at = this.#parts.now();
    if (this.#known !== undefined && at - this.#known.at < maxAgeMs) return this.#known.view;
    const view = this.#load();
    const asked = { view, at };
    this.#known = asked;
    // The next one asks again: the server may be back.
    view.catch(() => {
      if (this.#known === asked) this.#known = undefined;
    });
    return view;
  }

  /** Hears from now on that the tools are others than those that were shown. */
  watch(onChanged: () => void): void {
    this.#onChanged = onChanged;
  }

  /** Notes that somebody is shown a view, and looks whether it stays as it is. */
  show({ tools }: ServerView): void {
    this.#shown = digestOf(tools);
    this.#timer ??= setInterval(() => void this.#look(), this.#parts.lookMs).unref();
  }

  /** An answer did not fit the list: it is asked for again soon. */
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

  /** Manifest and contracts say whether anything is new; a server that is away is asked again later. */
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

  /** A server that shows its manifest to others has tools all the same. */
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

/** The part of a manifest that tools are described by. */
interface ServerManifest {
  readonly serverId: string | undefined;
  /** Another one where the manifest is another one. */
  readonly version: string | undefined;
  /** By method and path. */
  readonly outputs: ReadonlyMap<string, JsonSchema>;
}

/** Said of a server whose manifest cannot be had. */
const NO_MANIFEST: ServerManifest = {
  serverId: undefined,
  version: undefined,
  outputs: new Map(),
};

/**
 * The documents of a server beside its list of tools, read as a stranger's: its manifest has the
 * output schemas, the identity document of the caller the scopes that it holds. Reads the manifest;
 * undefined where the answer is none.   AGTP-API §8
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
    // An operator may fix the version; the tag is of the octets.
    version: headers.get("etag") ?? textIn(version),
    outputs,
  };
}

/** The scopes of an identity document; undefined where it says nothing of them. */
function readScopes({ status, body }: ClientResponse): readonly string[] | undefined {
  if (status !== 200 || !isRecord(body)) return undefined;
  const { requires, scopes_accepted: accepted } = body;
  const held = isRecord(requires) ? (requires["scopes"] ?? accepted) : accepted;
  if (!Array.isArray(held)) return undefined;
  return held.filter((scope) => typeof scope === "string");
}

/** The tools, as clients are shown them. */
export const OWN_TOOLS: readonly ListedTool[] = [
  { name: APPROVED_CALL, description: withOutput(APPROVED_CALL_TOOL, {}) },
  { name: PROPOSE, description: withOutput(PROPOSE_AT_ONCE, {}) },
];

const OWN_NAMES: ReadonlySet<string> = new Set(OWN_TOOLS.map(({ name }) => name));
