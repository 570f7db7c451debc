/**
 * Sends the octets of one request at a time to the server under test, for a given identity, and
 * returns the answer, by a deadline. The connection is reused if the server keeps it open.
 * AGTP "Request Headers"
 */

import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import type { Peer } from "../../client/agtp-client.ts";
import { connectRaw, type RawAnswer, type RawConnection } from "../../client/raw-connection.ts";
import { covers } from "../../identity/authority-scope.ts";
import { uuidv7 } from "../../identity/uuid.ts";
import type { ResponseLimits } from "../../wire/fields.ts";
import type { ReceivedResponse } from "../../wire/response-parser.ts";
import { createBindings } from "./text-pattern.ts";
import { encodeRequest, fillRequest } from "./transcript.ts";

export interface Target {
  readonly peer: Peer;
  /** The time for one case, connecting included. */
  readonly timeoutMs: number;
}

/** The outcome of a request. */
export type Answer = RawAnswer | { readonly kind: "unreachable"; readonly message: string };

interface Manner {
  /** True if the client ends its side after the request. */
  readonly isCut: boolean;
  /** True if the request may be repeated on a new connection when the open one turns out to be closed. */
  readonly isRepeatable: boolean;
}

const ONCE: Manner = { isCut: false, isRepeatable: false };

/** Larger than any manifest, but bounded. */
const LIMITS: ResponseLimits = { headBytes: 262_144, bodyBytes: 16 * 1024 * 1024 };

/** A client for sequential requests to one server. */
export class Questioner {
  readonly deadline: number;
  readonly #peer: Peer;
  #connection: RawConnection | undefined;

  /** The deadline covers all of its requests. */
  constructor({ peer, timeoutMs }: Target) {
    this.#peer = peer;
    this.deadline = performance.now() + timeoutMs;
  }

  async ask(bytes: Uint8Array, manner: Manner = ONCE): Promise<Answer> {
    const { isCut, isRepeatable } = manner;
    const known = this.#connection?.isOpen === true ? this.#connection : undefined;
    if (known?.hasUnread) return { kind: "garbage", message: "a response that nobody asked for" };
    const answer = await this.#send(bytes, isCut);
    if (answer.kind !== "closed" || known === undefined || !isRepeatable) return answer;
    this.close();
    return this.#send(bytes, isCut);
  }

  /** Returns true if the server closes the last connection. */
  async isClosedByServer(): Promise<boolean> {
    return (await this.#connection?.closes(this.deadline)) ?? true;
  }

  close(): void {
    this.#connection?.destroy();
    this.#connection = undefined;
  }

  async #send(bytes: Uint8Array, isCut: boolean): Promise<Answer> {
    if (this.#connection?.isOpen !== true) {
      this.close();
      const result = await connectRaw(this.#peer, { deadline: this.deadline, limits: LIMITS });
      if (result.kind === "unreachable") return result;
      this.#connection = result.connection;
    }
    this.#connection?.send(bytes);
    if (isCut) this.#connection?.end();
    return this.#connection?.next(this.deadline) ?? { kind: "closed" };
  }
}

/** Describes an answer that is not a response, to complete "the server …". */
export function describeAnswer(answer: Exclude<Answer, { kind: "response" }>): string {
  switch (answer.kind) {
    case "closed":
      return "closed the connection without an answer";
    case "garbage":
      return `sent what is no response: ${answer.message}`;
    case "silence":
      return answer.isPartial ? "sent part of a response, and no more" : "did not answer in time";
    case "unreachable":
      return `cannot be reached: ${answer.message}`;
  }
}

/** A body as UTF-8. */
export function bodyText({ body }: Pick<ReceivedResponse, "body">): string {
  return new TextDecoder().decode(body);
}

/** The suite's identity, from the command line. */
export interface Identity {
  readonly agentId?: string | undefined;
  readonly ownerId?: string | undefined;
  /** The scopes that the agent holds; if undefined, Authority-Scope is not sent. */
  readonly scopes?: readonly string[] | undefined;
  readonly otherAgentId?: string | undefined;
  /** Sent with every request, `Name: value`. */
  readonly headers: readonly string[];
}

/** Creates header field lines, new ones on each call. */
export type Lines = () => readonly string[];

/** Header field lines by name; identities that are not configured are missing. */
export function identityLines(identity: Identity): Readonly<Record<string, Lines>> {
  const { agentId, ownerId, scopes, otherAgentId, headers } = identity;
  const lines = (...fields: readonly (readonly [string, string | undefined])[]): Lines => {
    const known = fields.flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}: ${value}`],
    );
    return () => [...known, `Request-ID: ${uuidv7()}`, ...headers];
  };
  const owner = ["Owner-ID", ownerId] as const;
  const agent = ["Agent-ID", agentId] as const;
  const anyone = lines();
  const acting = lines(agent, owner, ["Authority-Scope", scopes?.join(", ")]);
  return {
    anyone,
    caller: agentId === undefined ? anyone : acting,
    ...(agentId === undefined ? {} : { agent: acting }),
    ...(otherAgentId === undefined ? {} : { other: lines(["Agent-ID", otherAgentId], owner) }),
    ...(scopes === undefined
      ? {}
      : { unprivileged: lines(agent, owner, ["Authority-Scope", plainScopes(scopes).join(", ")]) }),
  };
}

const PRIVILEGES = ["rcns:negotiate", "inspect:all"];

/** The scopes that do not cover a privileged one. */
export function plainScopes(scopes: readonly string[]): readonly string[] {
  return scopes.filter((scope) => !PRIVILEGES.some((privilege) => covers([scope], privilege)));
}

/** A document, or the reason there is none, to complete "the server's manifest …". */
export type Found<Value> = { readonly kind: "found"; readonly value: Value } | Missing;

interface Missing {
  readonly kind: "missing";
  readonly reason: string;
  /** True if the server may refuse it, and did so explicitly. */
  readonly isRefused: boolean;
  /** True if the server closed the connection instead. */
  readonly isClosed?: boolean;
}

/** The answers of a server about itself. */
export interface Survey {
  readonly manifest: Found<JsonRecord>;
  readonly inventory: Found<readonly JsonRecord[]>;
  readonly patterns: Found<JsonRecord>;
}

type SurveyResult =
  | { readonly kind: "survey"; readonly survey: Survey }
  | { readonly kind: "unreachable"; readonly message: string };

const ANONYMOUS = ["AGTP/1.0 DISCOVER /", "{{anyone}}"];
const BY_TYPE = ["AGTP/1.0 DISCOVER /", "{{agent}}", "Accept: application/vnd.agtp.manifest+json"];

/**
 * Asks a server about itself before the cases run. A missing answer is recorded with a reason; only
 * an unreachable server ends the run.   AGTP-API §5.8, §8.10
 */
export async function surveyServer(target: Target, identity: Identity): Promise<SurveyResult> {
  const lines = identityLines(identity);
  const ask = (request: readonly string[]): Promise<Answer> => askOnce(target, request, lines);
  const anonymous = await ask(ANONYMOUS);
  if (anonymous.kind === "unreachable") return anonymous;
  const first = documentOf(anonymous, isRecord);
  const isWithheld = first.kind === "missing" && first.isRefused && "agent" in lines;
  const manifest = isWithheld ? documentOf(await ask(BY_TYPE), isRecord) : first;
  // A server that is silent is not asked three times.
  if (anonymous.kind === "silence" && first.kind === "missing") {
    return { kind: "survey", survey: { manifest, inventory: first, patterns: first } };
  }
  const inventory = documentOf(await ask(["AGTP/1.0 DISCOVER /methods", "{{caller}}"]), isRecords);
  const patterns = documentOf(await ask(["AGTP/1.0 DISCOVER /patterns", "{{caller}}"]), isRecord);
  return { kind: "survey", survey: { manifest, inventory, patterns } };
}

async function askOnce(
  target: Target,
  lines: readonly string[],
  values: Readonly<Record<string, unknown>>,
): Promise<Answer> {
  const filled = fillRequest({ lines, isCut: false }, createBindings(values));
  if (filled.kind === "fault") return { kind: "garbage", message: filled.message };
  const questioner = new Questioner(target);
  try {
    return await questioner.ask(encodeRequest(filled.text));
  } finally {
    questioner.close();
  }
}

function documentOf<Value>(answer: Answer, is: (value: unknown) => value is Value): Found<Value> {
  const missing = (reason: string, isRefused = false): Missing => ({
    kind: "missing",
    reason,
    isRefused,
    isClosed: answer.kind === "closed",
  });
  if (answer.kind !== "response") return missing(`cannot be had: it ${describeAnswer(answer)}`);
  const { status } = answer.response;
  if (status !== 200) return missing(`was refused with ${status}`, [262, 401].includes(status));
  try {
    const value: unknown = JSON.parse(bodyText(answer.response));
    return is(value) ? { kind: "found", value } : missing("is of another type than it should be");
  } catch {
    return missing("is no JSON");
  }
}

function isRecords(value: unknown): value is readonly JsonRecord[] {
  return Array.isArray(value) && value.every(isRecord);
}
