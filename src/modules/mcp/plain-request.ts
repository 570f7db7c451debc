/**
 * Requests to call or list tools that follow their protocol exactly. These are answered without the library, which
 * answers everything else in its own words. So nothing is refused here, and only requests that the library would
 * accept are taken.
 * MCP "Base Protocol", "Standard Request Headers"
 */
import { isRecord, type JsonRecord } from "../../base/json-value.ts";

/** HTTP header fields by lower-case name. */
export type HttpFields = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A request that needs no further validation. */
export type PlainRequest =
  | (PlainMessage & {
      readonly kind: "call";
      readonly name: string;
      readonly arguments: JsonRecord;
    })
  | (PlainMessage & { readonly kind: "list"; readonly cursor: string | undefined });

interface PlainMessage {
  readonly id: string | number;
  readonly meta: JsonRecord;
}

/** The current protocol version. */
export const CURRENT_VERSION = "2026-07-28";

const JSON_TYPE = /^application\/json(?:; ?charset=utf-8)?$/i;
const OWN = "io.modelcontextprotocol/";
/** Members of `_meta` in an envelope. */
export const VERSION_CLAIM: string = `${OWN}protocolVersion`;
export const ENVELOPE: ReadonlySet<string> = new Set(
  ["clientInfo", "clientCapabilities", "logLevel"].map((name) => `${OWN}${name}`),
);

const CLAIMS: ReadonlySet<string> = new Set([VERSION_CLAIM, ...ENVELOPE]);

const MESSAGE: ReadonlySet<string> = new Set(["jsonrpc", "id", "method", "params"]);
const CALL: ReadonlySet<string> = new Set(["name", "arguments", "_meta"]);
const LIST: ReadonlySet<string> = new Set(["cursor", "_meta"]);

/**
 * Reads a plain request; undefined if the library must answer. `isKnown` is true for an envelope that the library
 * accepts.
 */
export function readPlain(
  fields: HttpFields,
  body: unknown,
  isKnown: (meta: JsonRecord) => boolean,
): PlainRequest | undefined {
  const message = readMessage(fields, body);
  if (message === undefined || !agree(fields, message.method)) return undefined;
  const { id, method, params } = message;
  const meta = params["_meta"];
  if (!isRecord(meta) || meta[VERSION_CLAIM] !== CURRENT_VERSION) return undefined;
  if (!isPlainMeta(meta, CLAIMS) || !isKnown(meta)) return undefined;
  if (method === "tools/call") return readCall({ id, meta }, params, fields["mcp-name"]);
  return method === "tools/list" ? readList({ id, meta }, params) : undefined;
}

/** Reads a plain request in a session, whose client declared its capabilities at the start. */
export function readPlainInSession(fields: HttpFields, body: unknown): PlainRequest | undefined {
  const message = readMessage(fields, body);
  const accept = String(fields["accept"]);
  const isAnyAccepted = accept.includes("application/json") && accept.includes("text/event-stream");
  if (message === undefined || !isAnyAccepted) return undefined;
  if (!OLDER_VERSIONS.has(String(fields["mcp-protocol-version"]))) return undefined;
  const { id, method, params } = message;
  const { _meta: meta = {} } = params;
  if (!isRecord(meta) || !isPlainMeta(meta, NOTHING)) return undefined;
  if (method === "tools/call") return readCall({ id, meta }, params, params["name"]);
  return method === "tools/list" ? readList({ id, meta }, params) : undefined;
}

const OLDER_VERSIONS: ReadonlySet<string> = new Set(["2025-11-25", "2025-06-18", "2025-03-26"]);
const NOTHING: ReadonlySet<string> = new Set();

/** A JSON-RPC request with parameters. */
interface Message {
  readonly id: string | number;
  readonly method: unknown;
  readonly params: JsonRecord;
}

function readMessage(fields: HttpFields, body: unknown): Message | undefined {
  if (!isRecord(body) || !hasOnly(body, MESSAGE) || body["jsonrpc"] !== "2.0") return undefined;
  const { id, method, params = {} } = body;
  if (!isMessageId(id) || !isRecord(params)) return undefined;
  return JSON_TYPE.test(String(fields["content-type"])) ? { id, method, params } : undefined;
}

function readCall(
  message: PlainMessage,
  params: JsonRecord,
  named: unknown,
): PlainRequest | undefined {
  const { name, arguments: given = {} } = params;
  // A name with this prefix is encoded.
  if (typeof name !== "string" || name !== named || name.startsWith("=?")) return undefined;
  const isPlain = hasOnly(params, CALL) && isRecord(given) && !Object.hasOwn(given, "__proto__");
  return isPlain ? { ...message, kind: "call", name, arguments: given } : undefined;
}

function readList(message: PlainMessage, params: JsonRecord): PlainRequest | undefined {
  const { cursor } = params;
  if (!hasOnly(params, LIST) || (cursor !== undefined && typeof cursor !== "string")) {
    return undefined;
  }
  return { ...message, kind: "list", cursor };
}

/** True if the header fields agree with the message. */
function agree(fields: HttpFields, method: unknown): boolean {
  return fields["mcp-method"] === method && fields["mcp-protocol-version"] === CURRENT_VERSION;
}

/** True without a progress token, since progress needs a stream. */
function isPlainMeta(meta: JsonRecord, own: ReadonlySet<string>): boolean {
  return Object.keys(meta).every(
    (name) =>
      name !== "progressToken" && name !== "__proto__" && (!name.startsWith(OWN) || own.has(name)),
  );
}

function hasOnly(record: JsonRecord, names: ReadonlySet<string>): boolean {
  return Object.keys(record).every((name) => names.has(name));
}

/** True for a valid message id. */
export function isMessageId(id: unknown): id is string | number {
  return typeof id === "string" || Number.isSafeInteger(id);
}
