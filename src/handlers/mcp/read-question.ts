/**
 * Reads what an MCP server asks in the middle of a call. Its text and its schema are a stranger's:
 * both are bounded, the schema is one that answers can be judged by at a bearable price, and secrets
 * that the server says again are taken out. What is no form is refused: nobody here follows a link
 * for a server, and nobody samples for one.   MCP "Elicitation"
 */
import { isDeeperThan, isRecord, type JsonRecord } from "../../base/json-value.ts";
import { PROPOSED_SCHEMA_BOUNDS, type SchemaBounds } from "../../schema/schema-bounds.ts";
import { checkSchema } from "../../schema/schema-check.ts";
import type { Secrets } from "./secrets.ts";

/** A question that can be put before operators. */
export interface ReadQuestion {
  readonly message: string;
  readonly schema: JsonRecord;
}

/** The questions of one answer, as one: with several, an answer has a member for each. */
export interface ReadRequests extends ReadQuestion {
  /** The server's names for them. */
  readonly keys: readonly string[];
}

/** The question cannot be asked. */
export interface QuestionFault {
  /** `refused`: it asks for what is not offered here. */
  readonly kind: "refused" | "malformed";
}

const MAX_MESSAGE = 2_048;
const MAX_QUESTIONS = 8;
const MAX_KEY = 128;
/** Such schemas are flat: forms of a few fields. */
const BOUNDS: SchemaBounds = {
  ...PROPOSED_SCHEMA_BOUNDS,
  ...{ maxLength: 16_384, maxDepth: 6, maxSchemas: 512, maxProperties: 64, maxPatterns: 16 },
};
const MAX_DEPTH = 16;

/** Reads the parameters of one `elicitation/create`. */
export function readQuestion(params: unknown, secrets: Secrets): ReadQuestion | QuestionFault {
  if (!isRecord(params) || isDeeperThan(params, MAX_DEPTH)) return { kind: "malformed" };
  const { mode = "form", message, requestedSchema } = params;
  if (mode !== "form") return { kind: "refused" };
  if (typeof message !== "string" || !isRecord(requestedSchema)) return { kind: "malformed" };
  const isForm = requestedSchema["type"] === "object" && isRecord(requestedSchema["properties"]);
  if (!isForm || checkSchema(requestedSchema, BOUNDS).length > 0) return { kind: "malformed" };
  const schema = JSON.parse(secrets.concealIn(JSON.stringify(requestedSchema))) as JsonRecord;
  return { message: secrets.conceal(message).slice(0, MAX_MESSAGE), schema };
}

/** Reads all that an answer asks for. */
export function readRequests(requests: JsonRecord, secrets: Secrets): ReadRequests | QuestionFault {
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

/** The answers of an operator, by the server's names for its questions. */
export function responsesTo(keys: readonly string[], content: JsonRecord): JsonRecord {
  const accepted = (given: unknown): JsonRecord => ({ action: "accept", content: given });
  const [only] = keys;
  if (only !== undefined && keys.length === 1) return { [only]: accepted(content) };
  return Object.fromEntries(keys.map((key) => [key, accepted(content[key])]));
}
