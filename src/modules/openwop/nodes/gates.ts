/**
 * core.approvalGate: suspends the run until its inputs are approved, by one approver or as many as it requires. A
 * rejection ends the run unless a loop edge leads back for it.   OpenWOP "interrupt" approval, RFC 0051
 */

import { given, isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { closedObject, type JsonSchema } from "../../../schema/json-schema.ts";
import type { SchemaCompiler } from "../../../schema/schema.ts";
import { MAX_TTL_MS } from "../runs/run-state.ts";
import { NAME, type WorkflowNode } from "../workflows/workflow.ts";
import {
  type NodeCall,
  type NodeFault,
  type NodeOutcome,
  type NodeType,
  TEXT,
} from "./node-type.ts";

/** `ask` is not offered: it does not end the wait, and this host keeps no conversation. */
const ACTIONS = ["accept", "reject", "refine", "edit-accept"] as const;
const DEFAULT_ACTIONS = ["accept", "reject"];
const MAX_APPROVALS = 64;

/** The gate's timeout. */
const TIMEOUT: JsonSchema = { type: "integer", minimum: 1, maximum: MAX_TTL_MS };

const CONFIG: JsonSchema = closedObject({
  ...{ title: NAME, prompt: NAME, description: TEXT, artifactId: NAME, artifactType: NAME },
  actions: {
    ...{ type: "array", items: { enum: ACTIONS }, minItems: 1, uniqueItems: true },
    contains: { enum: ["accept", "edit-accept"] },
  },
  requiredApprovals: { type: "integer", minimum: 1, maximum: MAX_APPROVALS },
  approversList: { type: "array", items: NAME, maxItems: 1024, uniqueItems: true },
  rejectionPolicy: { enum: ["single-veto", "majority"] },
  timeoutMs: TIMEOUT,
});

/** Returns the node type; with `hasVoters`, the public suite may vote for several people with one key. */
export function approvalGateNode(hasVoters: boolean): NodeType {
  return { isEffectful: false, config: CONFIG, execute: (call) => suspend(call, hasVoters) };
}

function suspend({ node, inputs }: NodeCall, hasVoters: boolean): NodeOutcome {
  const { config } = node;
  const actions = Array.isArray(config["actions"]) ? config["actions"] : DEFAULT_ACTIONS;
  const { requiredApprovals, approversList, rejectionPolicy } = config;
  const data = {
    ...{ ...describe(node), actions },
    ...given({ requiredApprovals, approversList, rejectionPolicy }),
    ...(Object.keys(inputs).length === 0 ? {} : { artifactData: inputs }),
  };
  const resumeSchema = wordSchema(actions, hasVoters);
  return {
    kind: "suspended",
    request: { kind: "approval", data, resumeSchema, ...timeOf(config) },
  };
}

function timeOf({ timeoutMs }: JsonRecord): { readonly timeoutMs?: number } {
  return typeof timeoutMs === "number" ? { timeoutMs } : {};
}

function describe({ id, name, config, artifactType }: WorkflowNode): JsonRecord {
  const { title, prompt, description } = config;
  return {
    artifactId: config["artifactId"] ?? id,
    artifactType: artifactType ?? config["artifactType"] ?? "workflow.approval",
    title: title ?? prompt ?? (name || id),
    ...given({ description }),
  };
}

const FEEDBACK: JsonSchema = {
  type: "object",
  required: ["scope"],
  properties: {
    scope: { enum: ["whole", "section", "items"] },
    sectionPath: TEXT,
    itemIds: { type: "array", items: NAME, maxItems: 1024 },
    tags: { type: "array", items: NAME, maxItems: 1024 },
    text: TEXT,
  },
  additionalProperties: false,
};

/** The schema of a vote. Its decider is the API's caller; `decidedBy` is accepted and ignored. */
function wordSchema(actions: readonly unknown[], hasVoters: boolean): JsonSchema {
  const needs = (action: string, member: string): JsonSchema => ({
    if: { required: ["action"], properties: { action: { const: action } } },
    // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
    then: { required: [member] },
  });
  return {
    ...closedObject(
      {
        ...{ action: { enum: actions }, comment: TEXT, feedback: TEXT },
        ...{ refineFeedback: FEEDBACK, editedArtifactData: {} },
        ...{ decidedBy: NAME, decidedAt: NAME, ...(hasVoters ? { voter: NAME } : {}) },
      },
      ["action"],
    ),
    allOf: [needs("refine", "refineFeedback"), needs("edit-accept", "editedArtifactData")],
  };
}

const MAX_QUESTIONS = 64;

const QUESTION = closedObject(
  { id: NAME, question: { ...TEXT, minLength: 1 }, schema: { type: "object" } },
  ["id", "question"],
);

/** The short form is one question with the id `answer`. */
const CLARIFICATION: JsonSchema = {
  ...closedObject({
    questions: { type: "array", items: QUESTION, minItems: 1, maxItems: MAX_QUESTIONS },
    question: { ...TEXT, minLength: 1 },
    schema: { type: "object" },
    contextType: NAME,
    timeoutMs: TIMEOUT,
  }),
  oneOf: [{ required: ["questions"] }, { required: ["question"] }],
};

interface Question {
  readonly id: string;
  readonly question: string;
  readonly schema?: JsonSchema;
}

/** Returns the node type of clarification gates. */
export function clarificationGateNode(compiler: SchemaCompiler): NodeType {
  return {
    ...{ isEffectful: false, config: CLARIFICATION },
    execute: ({ node: { config } }) => clarify(config),
    checkNode: ({ config }) => checkQuestions(questionsOf(config), compiler),
  };
}

function clarify(config: JsonRecord): NodeOutcome {
  const questions = questionsOf(config);
  const { contextType } = config;
  const data = { questions, ...given({ contextType }) };
  const resumeSchema = answersSchema(questions);
  const request = { kind: "clarification", data, resumeSchema, ...timeOf(config) } as const;
  return { kind: "suspended", request };
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

/** Requires an answer to every question, and no others. */
function answersSchema(questions: readonly Question[]): JsonSchema {
  const schemas = questions.map(({ id, schema = {} }) => [id, schema] as const);
  const answers = closedObject(
    Object.fromEntries(schemas),
    questions.map(({ id }) => id),
  );
  return closedObject({ answers }, ["answers"]);
}
