/**
 * The answer to a tool that asks for more before it goes on: the question is put before operators by
 * the call's own way to them, with what the server needs to go on; and the answer that comes back
 * with the call is given to the server.   MCP "Elicitation", "Multi Round-Trip Requests"
 */
import { type JsonRecord, recordIn } from "../../base/json-value.ts";
import type {
  AwaitedAnswer,
  CallUpstream,
  UpstreamAnswer,
  UpstreamQuestion,
} from "../call-upstream.ts";
import type { HandlerError } from "../handler.ts";
import type { HeldAnswer } from "./held-call.ts";
import { HELD_LIMITS, type HeldCalls } from "./held-calls.ts";
import type { InputRequired, ToolRequest } from "./mcp-connection.ts";
import {
  type QuestionFault,
  type ReadRequests,
  readQuestion,
  readRequests,
  responsesTo,
} from "./read-question.ts";
import type { Secrets } from "./secrets.ts";

/** The server that asks. */
export interface AskingServer {
  readonly settings: { readonly name: string };
  readonly secrets: Secrets;
  readonly held: Pick<HeldCalls, "drop">;
}

/** A server's answer that is a question. */
export type Question = HeldAnswer | InputRequired;

/** The most that a server's own note has: it is kept with the question. */
const MAX_STATE = 65_536;

/** Puts a question before the operators; an error where it cannot be asked. */
export async function askBack(
  question: Question,
  { ask }: CallUpstream,
  server: AskingServer,
): Promise<AwaitedAnswer | HandlerError> {
  const asked = readAsked(question, server.secrets);
  const outcome =
    "kind" in asked || ask === undefined ? undefined : await ask(toAsk(asked, server));
  const isHeld = question.kind === "held";
  // The question that was asked first is the one that is answered.
  if (isHeld && outcome?.kind !== "asked") server.held.drop(question.id);
  if ("kind" in asked) return refusedQuestion(asked);
  if (outcome === undefined || outcome.kind === "impossible") {
    const message = "the upstream asks for more input, which nobody can be asked for";
    return { error: "upstream_error", message };
  }
  return outcome.answer;
}

/** How the call goes on that an answer is for. */
export type Resumption =
  /** A server of the older protocol waits for it. */
  | { readonly kind: "held"; readonly id: string; readonly content: JsonRecord }
  /** The call is made again with the answer. */
  | { readonly kind: "again"; readonly input: NonNullable<ToolRequest["input"]> };

/** Reads what was kept with a question; undefined: the call begins. */
export function resumptionOf(answer: UpstreamAnswer | undefined): Resumption | undefined {
  if (answer === undefined) return undefined;
  const { content, resume } = answer;
  const { held, keys, state } = resume;
  if (typeof held === "string") return { kind: "held", id: held, content };
  const named = Array.isArray(keys) ? keys.map(String) : [];
  const responses = responsesTo(named, content);
  return {
    kind: "again",
    input: { responses, ...(typeof state === "string" ? { requestState: state } : {}) },
  };
}

/** The held call that the question of an escalation is about. */
export function heldIdOf(resume: JsonRecord | undefined): string | undefined {
  const held = recordIn(resume)["held"];
  return typeof held === "string" ? held : undefined;
}

interface Asked extends Pick<ReadRequests, "message" | "schema"> {
  readonly resume: JsonRecord;
  readonly ttlMs?: number;
}

function readAsked(question: Question, secrets: Secrets): Asked | QuestionFault {
  if (question.kind === "held") {
    const read = readQuestion(question.question, secrets);
    if ("kind" in read) return read;
    return { ...read, resume: { held: question.id }, ttlMs: HELD_LIMITS.ms };
  }
  const { requests, requestState: state = "" } = question;
  const read = readRequests(requests, secrets);
  if ("kind" in read) return read;
  if (state.length > MAX_STATE) return { kind: "malformed" };
  const { message, schema, keys } = read;
  return { message, schema, resume: { keys, ...(state === "" ? {} : { state }) } };
}

function toAsk({ message, schema, resume, ttlMs }: Asked, server: AskingServer): UpstreamQuestion {
  return {
    ...{ message, schema, resume, upstream: server.settings.name },
    ...(ttlMs === undefined ? {} : { ttlMs }),
  };
}

function refusedQuestion({ kind }: QuestionFault): HandlerError {
  if (kind === "refused") {
    return { error: "upstream_error", message: "the upstream asks for what is not offered to it" };
  }
  const message = "the upstream asks a question that is not what its protocol says";
  return { error: "upstream_malformed_response", message };
}
