/**
 * The `requestState` of a question that a client is asked: which contract it is about and until when
 * it may be answered, signed over who was asked, for which tool and with which arguments. A client
 * can read it, and change nothing of it.   MCP "Multi Round-Trip Requests"
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import canonicalize from "canonicalize";
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";

/** The call that a question belongs to. */
interface AskedOf {
  /** The key of the caller. */
  readonly caller: string;
  readonly tool: string;
  readonly arguments: JsonRecord;
}

/** People answer within it, or are asked again. */
export const LIFE_MS: number = 10 * 60_000;
const MAX_LENGTH = 1_024;
/** Signed with everything, so that no other signature by the same secret is taken for one. */
const PURPOSE = "agtpd mcp requestState 1";

/** Signs and reads them. */
export class RequestStates {
  readonly #secret: Buffer;
  readonly #now: () => number;

  constructor(secret: Buffer, now: () => number) {
    this.#secret = secret;
    this.#now = now;
  }

  /** For a question about a contract that is offered until then. */
  issue(asked: AskedOf, synthesisId: string, offeredUntil: number): string {
    const expiresAt = Math.min(offeredUntil, this.#now() + LIFE_MS);
    const named = { synthesisId, expiresAt };
    const payload = Buffer.from(JSON.stringify(named)).toString("base64url");
    return `${payload}.${this.#sign(payload, asked).toString("base64url")}`;
  }

  /** The contract that it names; undefined: it is none of ours, another call's, or too old. */
  read(state: string, asked: AskedOf): string | undefined {
    if (state.length > MAX_LENGTH) return undefined;
    const [payload = "", signature = "", ...others] = state.split(".");
    const given = Buffer.from(signature, "base64url");
    const expected = this.#sign(payload, asked);
    const isOurs = given.length === expected.length && timingSafeEqual(given, expected);
    if (!isOurs || others.length > 0) return undefined;
    const value: unknown = JSON.parse(Buffer.from(payload, "base64url").toString());
    if (!isRecord(value)) return undefined;
    const { synthesisId, expiresAt } = value;
    if (typeof synthesisId !== "string" || typeof expiresAt !== "number") return undefined;
    return expiresAt > this.#now() ? synthesisId : undefined;
  }

  #sign(payload: string, { caller, tool, arguments: input }: AskedOf): Buffer {
    const signed = canonicalize([PURPOSE, caller, tool, input, payload]) ?? "";
    return createHmac("sha256", this.#secret).update(signed).digest();
  }
}
