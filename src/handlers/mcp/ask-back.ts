/**
 * Handles a tool that asks for more input in the middle of a call: the question is put before
 * operators, with the state that the server needs to resume; their answer arrives with a repeated
 * call and is given to the server.   MCP "Elicitation", "Multi Round-Trip Requests"
 */
import { given, isRecord, type JsonRecord, recordIn, textIn } from "../../base/json-value.ts";
import { isTooDeep } from "../../base/nesting.ts";
import { PROPOSED_SCHEMA_BOUNDS, type SchemaBounds } from "../../schema/schema-bounds.ts";
import { checkSchema } from "../../schema/schema-check.ts";
import type {
  AskingOutcome,
  AwaitedAnswer,
  CallUpstream,
  UpstreamAnswer,
  UpstreamQuestion,
} from "../call-upstream.ts";
import type { HandlerError } from "../handler.ts";
import { HELD_LIMITS, type HeldAnswer, type HeldCalls } from "./held-calls.ts";
import type { InputRequired, ToolRequest } from "./mcp-connection.ts";
import type { Secrets } from "./read-settings.ts";

interface AskingServer {
  readonly settings: { readonly name: string };
  readonly secrets: Secrets;
  readonly held: Pick<HeldCalls, "drop">;
  readonly process: string | undefined;
}

type Question = HeldAnswer | InputRequired;

/** The longest request state of a server, which is stored with the question. */
const MAX_STATE = 65_536;

/** Puts a question before the operators; returns an error if it cannot be asked. Throws if storing it fails. */
export async function askBack(
  question: Question,
  { ask }: CallUpstream,
  server: AskingServer,
): Promise<AwaitedAnswer | HandlerError> {
  const asked = readAsked(question, server);
  let outcome: AskingOutcome | undefined;
  try {
    if (!("kind" in asked)) outcome = await ask?.(toAsk(asked, server));
  } finally {
    // Another question of the same call was asked first, so this held call gets no answer.
    if (question.kind === "held" && outcome?.kind !== "asked") server.held.drop(question.id);
  }
  if ("kind" in asked) return refusedQuestion(asked);
  if (outcome === undefined || outcome.kind === "impossible") {
    const message = "the upstream asks for more input, which nobody can be asked for";
    return { error: "upstream_error", message };
  }
  return outcome.answer;
}

/** The way in which a call resumes with its answer. */
type Resumption =
  /** A server of the older protocol still runs the call and waits for the answer. */
  | { readonly kind: "held"; readonly id: string; readonly content: JsonRecord }
  /** The call is made again, with the answer. */
  | { readonly kind: "again"; readonly input: NonNullable<ToolRequest["input"]> };

/** Reads the state that was kept with a question; undefined if the call is new. */
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

/** The id of the held call that an escalation's question belongs to. */
export function heldIdOf(resume: JsonRecord | undefined): string | undefined {
  const held = recordIn(resume)["held"];
  return textIn(held);
}

interface Asked extends Pick<ReadRequests, "message" | "schema"> {
  readonly resume: JsonRecord;
  readonly ttlMs?: number;
}

function readAsked(question: Question, { secrets, process }: AskingServer): Asked | QuestionFault {
  if (question.kind === "held") {
    const read = readQuestion(question.question, secrets);
    if ("kind" in read) return read;
    const resume = { held: question.id, ...given({ heldBy: process }) };
    return { ...read, resume, ttlMs: HELD_LIMITS.ms };
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

/** A question that can be put before operators. */
interface ReadQuestion {
  readonly message: string;
  readonly schema: JsonRecord;
}

/** The questions of one answer merged into one; if there are several, its answer has a member for each. */
interface ReadRequests extends ReadQuestion {
  /** The server's names for the questions. */
  readonly keys: readonly string[];
}

/** A question that cannot be asked. */
interface QuestionFault {
  /** `refused`: it asks for input of a kind that is not offered. */
  readonly kind: "refused" | "malformed";
}

const MAX_MESSAGE = 2_048;
const MAX_QUESTIONS = 8;
const MAX_KEY = 128;
/** Form schemas are flat, with a few fields. */
const BOUNDS: SchemaBounds = {
  ...PROPOSED_SCHEMA_BOUNDS,
  ...{ maxLength: 16_384, maxDepth: 6, maxSchemas: 512, maxProperties: 64, maxPatterns: 16 },
};
const MAX_DEPTH = 16;

/**
 * Reads a question of an MCP server in the middle of a call. Its text and schema are untrusted:
 * both are bounded, validating answers against the schema has a bounded cost, and the server's
 * secrets are removed. Everything but a form is refused: nobody here follows a link for a server,
 * and nobody samples for one.   MCP "Elicitation"
 */
function readQuestion(params: unknown, secrets: Secrets): ReadQuestion | QuestionFault {
  if (!isRecord(params) || isTooDeep(params, MAX_DEPTH)) return { kind: "malformed" };
  const { mode = "form", message, requestedSchema } = params;
  if (mode !== "form") return { kind: "refused" };
  if (typeof message !== "string" || !isRecord(requestedSchema)) return { kind: "malformed" };
  const isForm = requestedSchema["type"] === "object" && isRecord(requestedSchema["properties"]);
  const form = isForm ? plainForm(requestedSchema) : undefined;
  if (form === undefined || checkSchema(form, BOUNDS).length > 0) return { kind: "malformed" };
  const schema = secrets.concealIn(form);
  return { message: secrets.conceal(message).slice(0, MAX_MESSAGE), schema };
}

/**
 * The schema of a form without the keywords of one dialect. A form's keywords mean the same in
 * every dialect, and the names of choices are moved to the choices.
 * MCP "Elicitation", LegacyTitledEnumSchema
 */
function plainForm({ $schema, ...form }: JsonRecord): JsonRecord {
  const fields = Object.entries(recordIn(form["properties"]));
  return {
    ...(typeof $schema === "string" ? {} : given({ $schema })),
    ...form,
    properties: Object.fromEntries(fields.map(([name, field]) => [name, plainField(field)])),
  };
}

function plainField(field: unknown): unknown {
  const { enum: choices, enumNames: names, ...rest } = recordIn(field);
  if (!Array.isArray(choices) || !Array.isArray(names)) return field;
  const named = choices.map((choice, at) => ({ const: choice, ...given({ title: names[at] }) }));
  return { ...rest, oneOf: named };
}

/** Reads every question of an answer. */
function readRequests(requests: JsonRecord, secrets: Secrets): ReadRequests | QuestionFault {
  const keys = Object.keys(requests);
  if (keys.length > MAX_QUESTIONS || keys.some((key) => key.length > MAX_KEY)) {
    return { kind: "malformed" };
  }
  const questions: ReadQuestion[] = [];
  for (const key of keys) {
    const request = requests[key];
    if (!isRecord(request)) return { kind: "malformed" };
    if (request["method"] !== "elicitation/create") return { kind: "refused" };
    const question = readQuestion(request["params"], secrets);
    if ("kind" in question) return question;
    questions.push(question);
  }
  return { keys, ...together(keys, questions) };
}

function together(keys: readonly string[], questions: readonly ReadQuestion[]): ReadQuestion {
  const [only] = questions;
  if (only !== undefined && questions.length === 1) return only;
  return {
    message: questions
      .map(({ message }) => message)
      .join("\n")
      .slice(0, MAX_MESSAGE),
    schema: {
      ...{ type: "object", required: keys, additionalProperties: false },
      properties: Object.fromEntries(
        questions.map(({ schema }, index) => [keys[index] ?? "", schema]),
      ),
    },
  };
}

/** An operator's answers, by the server's names for its questions. */
function responsesTo(keys: readonly string[], content: JsonRecord): JsonRecord {
  const accepted = (given: unknown): JsonRecord => ({ action: "accept", content: given });
  const [only] = keys;
  if (only !== undefined && keys.length === 1) return { [only]: accepted(content) };
  return Object.fromEntries(keys.map((key) => [key, accepted(content[key])]));
}
