/**
 * ESCALATE: an agent leaves a decision to somebody else, and its task waits for it: for operators,
 * or the agent it names. 202 it is in the queue · 262 nobody that this server knows · 404 no such
 * recipient · 409 the task waits for another decision · 422 malformed · 429 too many wait.
 * AGTP "ESCALATE"
 */
import { hash } from "node:crypto";
import { MOMENT_FORMS, readMoment } from "../../base/duration.ts";
import { given, textIn } from "../../base/json-value.ts";
import {
  authorizationRequired,
  notFound,
  type Refusal,
  schemaViolation,
  violationAt,
} from "../../dispatch/refusals/refusal.ts";
import { taskPaused, tooManyWaiting } from "../../dispatch/refusals/task-refusals.ts";
import { type FloorMethod, floorResult } from "../../dispatch/routes/floor.ts";
import type { Call, HandlerSuccess } from "../../handlers/handler.ts";
import type { AgentDirectory } from "../../identity/agent-directory.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { checkOctets, type SchemaViolation } from "../../schema/schema-violation.ts";
import {
  ESCALATION_REASONS,
  type Escalation,
  type EscalationRequest,
  escalationView,
  PRIORITIES,
} from "../../state/registers/escalation.ts";
import type { EscalationRegister } from "../../state/registers/escalation-register.ts";

interface EscalateOptions {
  readonly directory: Pick<AgentDirectory, "resolve">;
  isDisclosedTo(agentId: string): boolean;
  readonly escalations: Pick<EscalationRegister, "open" | "now">;
  /** Recipient names that stand for the operators, in lower case. */
  readonly operators: ReadonlySet<string>;
}

const ID = { type: "string", pattern: "^[\\x21-\\x7e]{1,256}$" };

/** Parameters of ESCALATE; `decision_point` is an older word for what has to be decided. */
const ESCALATE_SCHEMA: JsonSchema = {
  type: "object",
  properties: {
    task_id: ID,
    reason: { enum: ESCALATION_REASONS },
    context: { type: ["object", "string"] },
    decision_point: { type: ["object", "string"] },
    priority: { enum: PRIORITIES },
    recipient: { type: "string", minLength: 1, maxLength: 256 },
    deadline: { type: ["string", "number"] },
  },
  examples: [
    {
      task_id: "task-7",
      reason: "scope_limit",
      context: { question: "May I book above the limit?" },
    },
  ],
};

const MAX_CONTEXT_BYTES = 16 * 1024;
const USUAL_MS = 7 * 24 * 3_600_000;
const LONGEST_MS = 30 * 24 * 3_600_000;

/** ESCALATE on "/". */
export function escalateMethod(options: EscalateOptions): FloorMethod {
  return {
    inputSchema: ESCALATE_SCHEMA,
    handler: async (call, { caller: { agentId, document } }) => {
      // An escalation is stored, and strangers must not cause writes.
      if (agentId === undefined || document === undefined) return unknownAgent();
      const now = options.escalations.now();
      const violations = violationsOf(call, now);
      if (violations.length > 0) return schemaViolation(violations);
      const recipient = readRecipient(options, call, agentId);
      if (typeof recipient === "object") return recipient;
      return escalate(options, call, requestOf(call, { agentId, recipient, now }));
    },
  };
}

function unknownAgent(): Refusal {
  const message = "escalations are taken from agents that this server knows";
  return authorizationRequired("credentials-missing", message);
}

/** Checks beyond the schema: either form is complete, the deadline is in the future, and the size is bounded. */
function violationsOf(call: Call, now: number): readonly SchemaViolation[] {
  const { reason, context, decision_point: point, deadline } = call.input;
  const required = { task_id: taskOf(call), reason, context };
  return [
    ...(point === undefined ? Object.entries(required) : []).flatMap(checkGiven),
    ...checkOctets("/context", askedIn(call), MAX_CONTEXT_BYTES),
    ...checkFuture("/deadline", deadline, now),
  ];
}

/** Violation for a parameter that is absent, though the schema lets it be. */
export function checkGiven([name, value]: readonly [string, unknown]): readonly SchemaViolation[] {
  if (value !== undefined) return [];
  return [{ path: `/${name}`, keyword: "required", message: "is required" }];
}

/** Violation for a value that is no future moment and no duration. */
export function checkFuture(path: string, value: unknown, now: number): readonly SchemaViolation[] {
  if (value === undefined || (readMoment(value, now) ?? 0) > now) return [];
  return [{ path, keyword: "format", message: `must be in the future: ${MOMENT_FORMS}` }];
}

/** The parameter takes precedence over the header, which names the task of the request itself. */
function taskOf({ input, taskId }: Call): string | undefined {
  const named = input["task_id"] ?? taskId;
  return textIn(named);
}

/** Merges both forms of the question to decide. */
function askedIn({ input: { context, decision_point: point } }: Call): unknown {
  if (point === undefined) return context;
  return context === undefined ? point : { decision_point: point, context };
}

/** Resolves the recipient; a caller that may not learn of agents has to give an Agent-ID. Undefined: the operators. */
function readRecipient(
  { directory, isDisclosedTo, operators }: EscalateOptions,
  { input: { recipient } }: Call,
  agentId: string,
): string | undefined | Refusal {
  if (typeof recipient !== "string" || operators.has(recipient.toLowerCase())) return undefined;
  const found = directory.resolve(recipient)?.agentId;
  if (found === agentId) {
    return violationAt("/recipient", "not", "must be another than the agent that escalates");
  }
  if (found !== undefined && (found === recipient || isDisclosedTo(agentId))) return found;
  return notFound("agent-not-found", "this server knows no recipient of this name");
}

interface Escalating {
  readonly agentId: string;
  /** Undefined: the operators. */
  readonly recipient: string | undefined;
  readonly now: number;
}

function requestOf(call: Call, { agentId, recipient, now }: Escalating): EscalationRequest {
  const { input, sessionId, principalId } = call;
  const { reason, priority = "normal", deadline } = input;
  const taskId = taskOf(call);
  const context = askedIn(call);
  const wanted = readMoment(deadline, now) ?? now + USUAL_MS;
  const asked = { reason: reason ?? null, context, priority, recipient: recipient ?? null };
  return {
    ...{ agentId, context, deadlineAt: Math.min(wanted, now + LONGEST_MS) },
    ...given({ taskId, sessionId, recipient, principalId }),
    ...given({ reason: reason as EscalationRequest["reason"] }),
    priority: priority as Escalation["priority"],
    fingerprint: hash("sha256", JSON.stringify(asked)),
  };
}

async function escalate(
  { escalations }: EscalateOptions,
  call: Call,
  request: EscalationRequest,
): Promise<HandlerSuccess | Refusal> {
  const opening = await escalations.open(request);
  switch (opening.kind) {
    case "full":
      return tooManyWaiting("escalations");
    case "waiting":
      return taskPaused(opening.escalation);
    case "opened":
    case "repeated":
      return receipt(call, opening.escalation);
  }
}

function receipt(call: Call, escalation: Escalation): HandlerSuccess {
  const { escalationId, taskId } = escalation;
  const { deadline, context: _, ...view } = escalationView(escalation);
  const poll = { method: "QUERY", path: `/escalations/${escalationId}` };
  const result = { ...view, deadline, estimated_review_by: deadline, poll };
  return floorResult({ taskId: taskId ?? call.taskId }, result, 202);
}
