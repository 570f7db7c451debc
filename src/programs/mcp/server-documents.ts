/**
 * The documents of a server beside its list of tools, read as a stranger's: its manifest has the output
 * schemas, the identity document of the caller the scopes that it holds.   AGTP-API §8
 */
import { isRecord } from "../../base/json-value.ts";
import { isTooDeep } from "../../base/nesting.ts";
import type { ClientResponse } from "../../client/agtp-client.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";

/** The part of a manifest that tools are described by. */
export interface ServerManifest {
  readonly serverId: string | undefined;
  /** Another one where the manifest is another one. */
  readonly version: string | undefined;
  /** By method and path. */
  readonly outputs: ReadonlyMap<string, JsonSchema>;
}

/** Said of a server whose manifest cannot be had. */
export const NO_MANIFEST: ServerManifest = {
  serverId: undefined,
  version: undefined,
  outputs: new Map(),
};

/** Reads the manifest; undefined where the answer is none. */
export function readManifest({
  status,
  headers,
  body,
}: ClientResponse): ServerManifest | undefined {
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
    version: headers.get("etag") ?? (typeof version === "string" ? version : undefined),
    outputs,
  };
}

/** The scopes of an identity document; undefined where it says nothing of them. */
export function readScopes({ status, body }: ClientResponse): readonly string[] | undefined {
  if (status !== 200 || !isRecord(body)) return undefined;
  const { requires, scopes_accepted: accepted } = body;
  const held = isRecord(requires) ? (requires["scopes"] ?? accepted) : accepted;
  if (!Array.isArray(held)) return undefined;
  return held.filter((scope) => typeof scope === "string");
}
