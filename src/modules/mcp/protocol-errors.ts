/** Errors of JSON-RPC, as MCP uses them.   MCP "Error Handling" */
import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import type { JsonRecord } from "../../base/json-value.ts";
import type { Challenge } from "./front.ts";
import { REFUSED } from "./report-fault.ts";

/** A request that cannot be understood. */
export function invalidParams(message: string, data?: JsonRecord): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message, data);
}

/** A fault of this server that the log has: its words may be heard by a client. */
export class ReportedFault extends ProtocolError {}

/** -32603; the data name the fault. */
export function internalError(message: string, data: JsonRecord): ReportedFault {
  return new ReportedFault(ProtocolErrorCode.InternalError, message, data);
}

/** Ends a request that HTTP answers in its own words. */
export function challenged({ message }: Challenge): ProtocolError {
  return new ProtocolError(REFUSED, message);
}

/** A request that was understood and refused, where the method has no result that says so. */
export function refused(message: string, data: JsonRecord): ProtocolError {
  return new ProtocolError(REFUSED, message, data);
}
