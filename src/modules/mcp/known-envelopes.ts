/**
 * The facts that clients tell of themselves in every message of 2026-07-28: their name, and what they can do. The
 * library judges it when it comes for the first time; from then on it is known by its text.
 * MCP "Base Protocol" (_meta)
 */
import { classifyInboundRequest } from "@modelcontextprotocol/server";
import { LRUCache } from "lru-cache";
import type { JsonRecord } from "../../base/json-value.ts";
import { CURRENT_VERSION, ENVELOPE, VERSION_CLAIM } from "./plain-request.ts";

/** Clients have few, and they are short. */
const MAX_KNOWN = 1_024;
const MAX_LENGTH = 2_048;

/** Envelopes that the library takes. */
export class KnownEnvelopes {
  readonly #known = new LRUCache<string, true>({ max: MAX_KNOWN });

  /** True if it is one; a long one is never known. */
  has(meta: JsonRecord): boolean {
    const envelope: Record<string, unknown> = {};
    for (const name of ENVELOPE) envelope[name] = meta[name];
    const text = JSON.stringify(envelope);
    if (text.length > MAX_LENGTH) return false;
    if (this.#known.get(text) === true) return true;
    const isTaken = isTakenByLibrary(envelope);
    if (isTaken) this.#known.set(text, true);
    return isTaken;
  }
}

function isTakenByLibrary(envelope: JsonRecord): boolean {
  const _meta: JsonRecord = { ...present(envelope), [VERSION_CLAIM]: CURRENT_VERSION };
  const body = { jsonrpc: "2.0", id: 0, method: "tools/list", params: { _meta } };
  return classifyInboundRequest({ httpMethod: "POST", body }).kind === "modern";
}

function present(envelope: JsonRecord): JsonRecord {
  return Object.fromEntries(Object.entries(envelope).filter(([, value]) => value !== undefined));
}
