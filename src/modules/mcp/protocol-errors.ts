/** Errors of JSON-RPC, as MCP uses them.   MCP "Error Handling" */
import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import type { JsonRecord } from "../../base/json-value.ts";
import type { Challenge } from "./front.ts";

/** A request that cannot be understood. */
export function invalidParams(message: string, data?: JsonRecord): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message, data);
}

/** A fault of this server; the data name it. */
export function internalError(message: string, data: JsonRecord): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InternalError, message, data);
}

/** The first of the codes that an implementation may give a meaning of its own. */
const REFUSED = -32_000;

/** Ends a request that HTTP answers in its own words. */
export function challenged({ message }: Challenge): ProtocolError {
  return new ProtocolError(REFUSED, message);
}

/** A request that was understood and refused, where the method has no result that says so. */
export function refused(message: string, data: JsonRecord): ProtocolError {
  return new ProtocolError(REFUSED, message, data);
}
