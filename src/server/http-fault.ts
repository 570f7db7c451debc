/**
 * Maps errors of Node's HTTP parser to wire faults, and builds the octets that answer them: Node has no response
 * object for such a request, and the connection closes after it. RFC 9112 §2.2
 */
import { STATUS_CODES } from "node:http";
import { codeOf } from "../base/thrown.ts";
import type { HttpAnswer } from "../dispatch/module/http-gateway.ts";
import type { WireFault, WireFaultCode } from "../wire/message.ts";

const CODES: ReadonlyMap<string, readonly [code: WireFaultCode, message: string]> = new Map([
  ["HPE_HEADER_OVERFLOW", ["header-too-large", "the head of the request is too large"]],
  ["ERR_HTTP_REQUEST_TIMEOUT", ["request-timeout", "the request did not arrive in time"]],
  ["HPE_INVALID_METHOD", ["invalid-request-line", "the method is not one of HTTP"]],
  ["HPE_INVALID_URL", ["invalid-request-line", "the request target cannot be read"]],
  ["HPE_INVALID_CONTENT_LENGTH", ["invalid-framing", "the length of the body cannot be read"]],
  ["HPE_UNEXPECTED_CONTENT_LENGTH", ["invalid-framing", "the length of the body is said twice"]],
  ["HPE_INVALID_TRANSFER_ENCODING", ["invalid-framing", "the transfer encoding is not known"]],
  ["HPE_INVALID_CHUNK_SIZE", ["invalid-framing", "the length of a chunk cannot be read"]],
]);

/** True for a parser error; other errors are the connection's, and get no answer. */
export function isReadingFault(error: Error): boolean {
  return /^(?:HPE_|ERR_HTTP_)/.test(codeOf(error));
}

/** Returns the wire fault for a parser error. */
export function faultOf(error: Error): WireFault {
  const known = CODES.get(codeOf(error));
  const [code, message] = known ?? ["invalid-wire-format", "the request is not HTTP"];
  return { kind: "wire-fault", code, message };
}

/** Serializes the response. */
export function faultOctets({ status, fields, body }: HttpAnswer): Buffer {
  const lines = [...fields].flatMap(([name, values]) => values.map((one) => `${name}: ${one}`));
  const octets = Buffer.from(body);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    ...lines,
    `date: ${new Date().toUTCString()}`,
    `content-length: ${octets.length}`,
    "connection: close",
  ];
  return Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1"), octets]);
}
