/**
 * core.clarificationGate: waits for answers to the questions of its configuration, and puts them out:
 * all of them as `answers`, and each under its id.   OpenWOP "interrupt" clarification
 */

import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { closedObject, type JsonSchema } from "../../../schema/json-schema.ts";
import type { SchemaCompiler } from "../../../schema/schema.ts";
import {
  configCheck,
  NAME,
  type NodeFault,
  type NodeOutcome,
  type NodeType,
  TEXT,
} from "./node-type.ts";

const MAX_QUESTIONS = 64;

const QUESTION = closedObject(
  { id: NAME, question: { ...TEXT, minLength: 1 }, schema: { type: "object" } },
  ["id", "question"],
);

/** The short form asks one question, whose id is `answer`. */
const CONFIG: JsonSchema = {
  ...closedObject({
    questions: { type: "array", items: QUESTION, minItems: 1, maxItems: MAX_QUESTIONS },
    question: { ...TEXT, minLength: 1 },
    schema: { type: "object" },
    contextType: NAME,
  }),
  oneOf: [{ required: ["questions"] }, { required: ["question"] }],
};

interface Question {
  readonly id: string;
  readonly question: string;
  readonly schema?: JsonSchema;
}

/** The node type. */
export function clarificationGateNode(compiler: SchemaCompiler): NodeType {
  const check = configCheck(compiler, "core.clarificationGate", CONFIG);
  return {
    isEffectful: false,
    execute: ({ node: { config } }) => suspend(config),
    checkNode: (node) => {
      const faults = check(node);
      return faults.length > 0 ? faults : checkQuestions(questionsOf(node.config), compiler);
    },
  };
}

function suspend(config: JsonRecord): NodeOutcome {
  const questions = questionsOf(config);
  const { contextType } = config;
  const data = { questions, ...(contextType === undefined ? {} : { contextType }) };
  const resumeSchema = wordSchema(questions);
  return { kind: "suspended", request: { kind: "clarification", data, resumeSchema } };
}

function questionsOf({ questions, question, schema }: JsonRecord): readonly Question[] {
  if (Array.isArray(questions)) return questions as readonly Question[];
  const asked = { id: "answer", question: String(question) };
  return [isRecord(schema) ? { ...asked, schema } : asked];
}

function checkQuestions(
  questions: readonly Question[],
  compiler: SchemaCompiler,
): readonly NodeFault[] {
  return questions.flatMap(({ id, schema = {} }, at): readonly NodeFault[] => {
    const key = `config.questions[${at}]`;
    const { problems } = compiler.compile(schema, { file: "", key: `${key}.schema` });
    const isRepeated = questions.findIndex((one) => one.id === id) < at;
    return [
      ...problems.map((problem) => ({ key: problem.key, message: problem.message })),
      ...(isRepeated ? [{ key: `${key}.id`, message: `"${id}" is there already` }] : []),
    ];
  });
}

/** Every question has its answer, and nothing else is answered. */
function wordSchema(questions: readonly Question[]): JsonSchema {
  const schemas = questions.map(({ id, schema = {} }) => [id, schema] as const);
  const answers = closedObject(
    Object.fromEntries(schemas),
    questions.map(({ id }) => id),
  );
  return closedObject({ answers }, ["answers"]);
}
