/** The schemas of the protocol's own messages, in both forms. */
import type { JsonSchema } from "../../../schema/json-schema.ts";
import type { Descriptor } from "../manifest/legacy-descriptor.ts";

const RPC_ID: JsonSchema = { type: ["string", "number", "null"] };

/** A request. */
export function requestSchema(): JsonSchema {
  return {
    type: "object",
    required: ["jsonrpc", "method"],
    properties: {
      jsonrpc: { const: "2.0" },
      id: RPC_ID,
      method: { type: "string" },
      params: { type: ["object", "null"] },
    },
  };
}

/** A response. */
export function responseSchema(): JsonSchema {
  return {
    type: "object",
    required: ["jsonrpc", "id"],
    properties: {
      jsonrpc: { const: "2.0" },
      id: RPC_ID,
      result: { type: "object" },
      error: {
        type: "object",
        required: ["code", "message"],
        properties: { code: { type: "integer" }, message: { type: "string" }, data: {} },
      },
    },
    oneOf: [{ required: ["result"] }, { required: ["error"] }],
  };
}

const LEGACY_ID = { type: ["string", "number"], nullable: true };

/** A request, in the descriptors of old. */
export function legacyRequest(): Descriptor {
  return {
    type: "object",
    required: ["jsonrpc", "method"],
    fields: {
      jsonrpc: { type: "string", const: "2.0" },
      id: LEGACY_ID,
      method: { type: "string" },
      params: { type: "object", nullable: true },
    },
  };
}

/** A response, in the descriptors of old. */
export function legacyResponse(): Descriptor {
  return {
    type: "object",
    required: ["jsonrpc"],
    fields: {
      jsonrpc: { type: "string", const: "2.0" },
      id: LEGACY_ID,
      result: { type: "object", nullable: true },
      error: { type: "object", nullable: true },
    },
  };
}
