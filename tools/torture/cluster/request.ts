/** The requests of a cluster's clients, and their encoding. */
import type { Asked } from "./history.ts";

/** A request of a client, and how it is recorded. */
export interface Request {
  readonly kind: Asked["kind"];
  /** Undefined if the connection identifies the caller. */
  readonly agent?: string;
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  /** Recorded, and sent as the Idempotency-Key of an effect. */
  readonly key?: string;
  /** The member of the answer that is recorded as the key. */
  readonly keyIn?: string;
  /** The member of the answer that is recorded in `said`. */
  readonly saidIn?: string;
  /** The approval under which it is made. */
  readonly escalation?: string;
}

/** Encodes a request for the wire. */
export function encode(request: Request, id: string): Buffer {
  const { agent, method, path, body = {}, key, kind, escalation } = request;
  const content = JSON.stringify(body);
  const headers = [
    ...(agent === undefined ? [] : [`Agent-ID: ${agent}`]),
    `Request-ID: ${id}`,
    ...(kind === "effect" ? [`Idempotency-Key: ${key}`] : []),
    ...(escalation === undefined ? [] : [`Escalation-ID: ${escalation}`]),
    "Content-Type: application/vnd.agtp+json",
    `Content-Length: ${Buffer.byteLength(content)}`,
  ];
  return Buffer.from(`AGTP/1.0 ${method} ${path}\r\n${headers.join("\r\n")}\r\n\r\n${content}`);
}
