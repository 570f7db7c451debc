/**
 * Signed tokens that name one interrupt for half an hour. They cannot be forged, and need a key that may answer.
 * OpenWOP "interrupt"
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { isRecord } from "../../../base/json-value.ts";
import { parseBoundedJson } from "../../../identity/json-document.ts";
import { openSecret } from "../../../state/kept-secret.ts";
import type { Store } from "../../../state/store.ts";

/** The interrupt that a token is issued for. */
interface TokenSubject {
  readonly runId: string;
  readonly nodeId: string;
  readonly interruptId: string;
}

/** The claims of a token. */
interface NamedInterrupt extends TokenSubject {
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

type ReadToken = NamedInterrupt | "expired";

const LIFE_MS = 30 * 60_000;
const MAX_LENGTH = 2048;
const SECRET = { collection: "openwop-secrets", key: "interrupt-tokens" };

export class InterruptTokens {
  readonly #secret: Buffer;
  readonly #now: () => number;

  constructor(secret: Buffer, now: () => number) {
    this.#secret = secret;
    this.#now = now;
  }

  /** Opens the store's secret, creating it once. */
  static async open(store: Store, now: () => number): Promise<InterruptTokens> {
    return new InterruptTokens(await openSecret(store, SECRET), now);
  }

  /** Issues a token; `end` is when the interrupt expires. */
  issue({ runId, nodeId, interruptId }: TokenSubject, end: number): string {
    const expiresAt = Math.min(this.#now() + LIFE_MS, end);
    const text = JSON.stringify({ runId, nodeId, interruptId, expiresAt });
    const payload = Buffer.from(text).toString("base64url");
    return `${payload}.${this.#sign(payload).toString("base64url")}`;
  }

  /** Undefined if this store did not issue it. */
  read(token: string): ReadToken | undefined {
    const [payload = "", signature = "", ...others] = token.split(".");
    if (token.length > MAX_LENGTH || others.length > 0) return undefined;
    const given = Buffer.from(signature, "base64url");
    const expected = this.#sign(payload);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
    const { value } = parseBoundedJson(Buffer.from(payload, "base64url").toString()) as {
      readonly value?: unknown;
    };
    if (!isRecord(value)) return undefined;
    const { runId, nodeId, interruptId, expiresAt } = value;
    if (typeof expiresAt !== "number" || expiresAt < this.#now()) return "expired";
    return {
      runId: String(runId),
      nodeId: String(nodeId),
      interruptId: String(interruptId),
      expiresAt,
    };
  }

  #sign(payload: string): Buffer {
    return createHmac("sha256", this.#secret).update(payload).digest();
  }
}
