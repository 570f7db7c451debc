/**
 * Calls of tools and lists of them, by 2026-07-28, that are exactly as that protocol has them. They are
 * answered here; whatever else comes is the library's to judge and to answer, in its own words. So
 * nothing is refused here, and what is taken is what the library would have taken.
 * MCP "Base Protocol", "Standard Request Headers"
 */
import { isRecord, type JsonRecord } from "../../base/json-value.ts";

/** Header fields of HTTP by lower-case name. */
export type HttpFields = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A message that needs no second look. */
export type PlainRequest =
  | (PlainMessage & {
      readonly kind: "call";
      readonly name: string;
      readonly arguments: JsonRecord;
    })
  | (PlainMessage & { readonly kind: "list"; readonly cursor: string | undefined });

/** What every message has. */
export interface PlainMessage {
  readonly id: string | number;
  readonly meta: JsonRecord;
}

/** The protocol that is spoken. */
export const CURRENT_VERSION = "2026-07-28";

const JSON_TYPE = /^application\/json(?:; ?charset=utf-8)?$/i;
const OWN = "io.modelcontextprotocol/";
/** The members of `_meta` that an envelope has. */
export const VERSION_CLAIM: string = `${OWN}protocolVersion`;
export const ENVELOPE: ReadonlySet<string> = new Set(
  ["clientInfo", "clientCapabilities", "logLevel"].map((name) => `${OWN}${name}`),
);

const MESSAGE: ReadonlySet<string> = new Set(["jsonrpc", "id", "method", "params"]);
const CALL: ReadonlySet<string> = new Set(["name", "arguments", "_meta"]);
const LIST: ReadonlySet<string> = new Set(["cursor", "_meta"]);

/** Undefined: it is for the library. `isKnown` tells whether the library takes such an envelope. */
export function readPlain(
  fields: HttpFields,
  body: unknown,
  isKnown: (meta: JsonRecord) => boolean,
): PlainRequest | undefined {
  if (!isRecord(body) || !hasOnly(body, MESSAGE) || body["jsonrpc"] !== "2.0") return undefined;
  const { id, method, params } = body;
  if (!isId(id) || !isRecord(params) || !agree(fields, method)) return undefined;
  const meta = params["_meta"];
  if (!isRecord(meta) || !isPlainMeta(meta) || !isKnown(meta)) return undefined;
  if (method === "tools/call") return readCall({ id, meta }, params, fields["mcp-name"]);
  return method === "tools/list" ? readList({ id, meta }, params) : undefined;
}

function readCall(
  message: PlainMessage,
  params: JsonRecord,
  named: HttpFields[string],
): PlainRequest | undefined {
  const { name, arguments: given = {} } = params;
  // A name that begins so is the encoding of another one.
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

/** Header fields that say the same as the message. */
function agree(fields: HttpFields, method: unknown): boolean {
  return (
    fields["mcp-method"] === method &&
    fields["mcp-protocol-version"] === CURRENT_VERSION &&
    JSON_TYPE.test(String(fields["content-type"]))
  );
}

/** Whoever wants to hear of progress is answered by a stream. */
function isPlainMeta(meta: JsonRecord): boolean {
  return (
    meta[VERSION_CLAIM] === CURRENT_VERSION &&
    Object.keys(meta).every(
      (name) =>
        name !== "progressToken" &&
        name !== "__proto__" &&
        (!name.startsWith(OWN) || name === VERSION_CLAIM || ENVELOPE.has(name)),
    )
  );
}

function hasOnly(record: JsonRecord, names: ReadonlySet<string>): boolean {
  return Object.keys(record).every((name) => names.has(name));
}

function isId(id: unknown): id is string | number {
  return typeof id === "string" || Number.isSafeInteger(id);
}
