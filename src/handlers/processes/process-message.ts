/**
 * The messages between the daemon and a process: JSON-RPC 2.0, one object a line. A process's
 * messages are untrusted, so they are read member by member.   docs/processes.md
 */
import { isUtf8 } from "node:buffer";
import { hasLostNumbers, rewriteExactly } from "../../base/exact-numbers.ts";
import { isRecord, type JsonRecord, parseJson, recordIn, valueAt } from "../../base/json-value.ts";
import { shareEncoded, sourceOf } from "../../base/kept-text.ts";
import { isTooDeep } from "../../base/nesting.ts";
import { withoutMark } from "../../base/utf8.ts";

export const PROTOCOL = 1;

/** The id of a request by the process. */
export type ForeignId = string | number;

/** The parameters that a function declares: a part of a JSON Schema. */
export type FunctionSignature = JsonRecord;

export type ProcessMessage =
  | {
      readonly kind: "hello";
      readonly protocol: unknown;
      readonly functions: readonly string[] | undefined;
      readonly signatures: JsonRecord;
    }
  | { readonly kind: "result"; readonly id: number; readonly result: unknown }
  | { readonly kind: "error"; readonly id: number; readonly message: string }
  | { readonly kind: "dispatch"; readonly id: ForeignId; readonly params: JsonRecord }
  | { readonly kind: "log"; readonly params: JsonRecord }
  /** A request with a method that the daemon does not have. */
  | { readonly kind: "unknown"; readonly id: ForeignId; readonly method: string }
  | { readonly kind: "stray"; readonly reason: string };

/** The JSON-RPC error codes of the daemon's answers. */
export const RPC_CODES = {
  methodNotFound: -32601,
  invalidParams: -32602,
  fault: -32000,
} as const;

const MAX_FUNCTIONS = 10_000;
const MAX_NAME = 256;
const MAX_FAULT = 2_048;
const OPENING = 0x7b;
const SPACE = 0x20;
const TAB = 0x09;
/** The length up to which a text cannot be nested too deeply. */
const SHORT = 128;

/** Reads one line of a process. */
export function readProcessLine(octets: Buffer): ProcessMessage {
  if (octets.length === 0) return stray("is empty");
  // Fast path: most lines that are not messages are recognised without parsing.
  if (firstCharacter(octets) !== OPENING) return stray(noObject(octets));
  const message = parseJson(octets.toString("utf8"));
  if (message === undefined) return stray("is no JSON");
  if (!isRecord(message) || message["jsonrpc"] !== "2.0") return stray("is no JSON-RPC 2.0");
  const { method, id, params = {} } = message;
  if (typeof method === "string") {
    if (!isUtf8(octets)) return stray("is not UTF-8");
    if (!isRecord(params)) return stray(`has params that are no object: ${method.slice(0, 64)}`);
    if (octets.length > SHORT && isTooDeep(params)) return stray("is nested too deeply");
    return readRequest(method, id, params);
  }
  if (typeof id === "string") return stray("answers by an id that is a text: a call's is a number");
  if (typeof id !== "number") return stray("answers a call that there is not");
  // Decoding would replace invalid octets silently.
  if (!isUtf8(octets)) return error(id, "the answer is not UTF-8");
  const { result, error: fault } = message;
  if (fault !== undefined && fault !== null) return readError(id, fault);
  if (result === undefined) return error(id, "the answer has no result and no error");
  if (octets.length > SHORT && isTooDeep(result)) {
    return error(id, "the result is nested too deeply");
  }
  if (isRecord(result)) keepNumbers(octets, result["body"]);
  return { kind: "result", id, result };
}

/** The first octet that is not JSON whitespace; undefined if there is none. */
function firstCharacter(octets: Buffer): number | undefined {
  let at = 0;
  while (octets[at] === SPACE || octets[at] === TAB) at += 1;
  return octets[at];
}

/** Why: a byte order mark is invisible in a log, where the line would look valid. */
function noObject(octets: Buffer): string {
  const hasMark = withoutMark(octets) !== octets;
  return hasMark ? "begins with a byte order mark" : "is no JSON object";
}

/** Keeps a body's numbers as the process wrote them: other languages have longer ones than a double. */
function keepNumbers(octets: Buffer, body: unknown): void {
  if (typeof body !== "object" || body === null || !hasLostNumbers(octets, body)) return;
  const bodyOf = (message: unknown): unknown => valueAt(message, ["result", "body"]);
  shareEncoded(body, rewriteExactly(octets, bodyOf));
}

function readRequest(method: string, id: unknown, params: JsonRecord): ProcessMessage {
  switch (method) {
    case "hello":
      return readHello(params);
    case "log":
      return { kind: "log", params };
    default:
  }
  if (typeof id !== "string" && typeof id !== "number") {
    return stray(`is a notification that nobody knows: ${method.slice(0, 64)}`);
  }
  return method === "dispatch" ? { kind: "dispatch", id, params } : { kind: "unknown", id, method };
}

function readHello({ protocol, functions, signatures }: JsonRecord): ProcessMessage {
  const isList =
    Array.isArray(functions) &&
    functions.length <= MAX_FUNCTIONS &&
    functions.every((name) => typeof name === "string" && name.length <= MAX_NAME);
  return {
    kind: "hello",
    protocol,
    functions: isList ? functions : undefined,
    signatures: recordIn(signatures),
  };
}

function readError(id: number, fault: unknown): ProcessMessage {
  const message = recordIn(fault)["message"];
  return error(id, typeof message === "string" ? message : "no reason was given");
}

function error(id: number, message: string): ProcessMessage {
  return { kind: "error", id, message: message.slice(0, MAX_FAULT) };
}

function stray(reason: string): ProcessMessage {
  return { kind: "stray", reason };
}

/** The line that calls a function. */
export function callLine(id: number, params: object): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"call","params":${JSON.stringify(params)}}\n`;
}

/** The line that cancels a call. */
export function cancelLine(call: number): string {
  return `{"jsonrpc":"2.0","method":"cancel","params":{"call":${call}}}\n`;
}

/** The line that answers a request of the process, with numbers as they were written. */
export function resultLine(id: ForeignId, status: number, body: unknown): string {
  const json = sourceOf(body) ?? JSON.stringify(body) ?? "null";
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"status":${status},"body":${json}}}\n`;
}

/** The line that answers a request with an error. */
export function errorLine(id: ForeignId, code: number, message: string): string {
  return `${JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } })}\n`;
}
