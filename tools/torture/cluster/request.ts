/** The requests of a cluster's clients, and how they are written. */
import type { Asked } from "./history.ts";

/** A request that a client sends, and how it is noted. */
export interface Request {
  readonly kind: Asked["kind"];
  /** Undefined: the connection says who asks. */
  readonly agent?: string;
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  /** Noted, and sent as the Idempotency-Key of an effect. */
  readonly key?: string;
  /** The member of the answer to note as the key. */
  readonly keyIn?: string;
  /** The member of the answer to note as what was said. */
  readonly saidIn?: string;
  /** The approval that it is made under. */
  readonly escalation?: string;
}

/** A request as it goes over the wire. */
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
