/**
 * A request of DELEGATE: target, task, scopes, deadline and callback. 422 for a missing or malformed parameter.   AGTP
 * "DELEGATE"
 */
import { hash } from "node:crypto";
import { MOMENT_FORMS, readMoment } from "../../base/duration.ts";
import { isRecord, type JsonRecord, quoteValue } from "../../base/json-value.ts";
import { canonicalPair } from "../../dispatch/policy/method-policy.ts";
import { type Refusal, violationAt } from "../../dispatch/refusals/refusal.ts";
import { creatingRegistry } from "../../endpoint/endpoint-registry.ts";
import { canonicalForm } from "../../identity/canonical-form.ts";
import { splitTarget } from "../../wire/message.ts";
import type { DelegationContext } from "./config.ts";
import {
  describeAction,
  type ExecutionRequest,
  readAction,
  readExecution,
} from "./execute-request.ts";
import { readScopes } from "./scopes.ts";

export interface DelegationRequest {
  readonly target: string;
  readonly task: Task;
  /** The task as received, and as sent to a peer. */
  readonly written: unknown;
  readonly scopes: readonly string[];
  /** Milliseconds since the epoch. */
  readonly deadline: number | undefined;
  readonly callback: unknown;
  /** True if the request brings a token. */
  readonly hasToken: boolean;
}

export const DELEGATE_SCHEMA: Readonly<Record<string, unknown>> = {
  type: "object",
  properties: {
    target_agent_id: { type: "string", maxLength: 512, description: "Agent-ID, name or agtp URI" },
    sub_agent: { type: "string", maxLength: 512, description: "An older name of target_agent_id" },
    task: {
      type: ["object", "array"],
      description: "A call {method, path, parameters}, or several",
    },
    authority_scope: { type: ["string", "array"], description: "What is handed on" },
    delegation_token: { type: "string", description: "Signed by the peer that sends the task" },
    delegation_chain: { type: "array", items: { type: "string" }, maxItems: 16 },
    callback: { type: ["string", "object"], description: "Where the outcome goes" },
    deadline: { type: ["string", "number"], description: "RFC 3339, or a duration" },
    context: { type: "object" },
  },
  examples: [
    {
      target_agent_id: "porter",
      task: { method: "QUERY", path: "/", parameters: { intent: "free rooms" } },
      authority_scope: [],
    },
  ],
};

/** Reads the parameters. */
export function readDelegation(parameters: JsonRecord, now: number): DelegationRequest | Refusal {
  const { target_agent_id: target = parameters["sub_agent"], task: written } = parameters;
  if (typeof target !== "string" || target === "") return missing("target_agent_id");
  if (written === undefined) return missing("task");
  const { authority_scope: scopesWritten } = parameters;
  if (scopesWritten === undefined) return missing("authority_scope");
  const scopes = readScopes(scopesWritten);
  if (typeof scopes === "string") return violationAt("/authority_scope", "format", scopes);
  const task = readTask(written);
  if ("kind" in task) return task;
  const deadline = readDeadline(parameters["deadline"], now);
  if (typeof deadline === "string") return violationAt("/deadline", "format", deadline);
  const { callback, delegation_token: token } = parameters;
  return { target, task, written, scopes, deadline, callback, hasToken: token !== undefined };
}

/** Reads a point in time, or a duration from `now`. */
function readDeadline(value: unknown, now: number): number | string | undefined {
  if (value === undefined) return undefined;
  return readMoment(value, now) ?? `must be ${MOMENT_FORMS}`;
}

function missing(parameter: string): Refusal {
  return violationAt(`/${parameter}`, "required", "is required");
}

/**
 * A parsed task: one call, or a sequence of calls. Each names a pair (`method`, `path`), or an action as in EXECUTE.
 */
interface Task {
  /** At least one. */
  readonly steps: readonly ExecutionRequest[];
  /** If false, the only step's result is the task's. */
  readonly isSequence: boolean;
}

const MAX_STEPS = 32;

/** Reads a task; 422 names the wrong member. */
function readTask(value: unknown): Task | Refusal {
  const written = Array.isArray(value) ? value : sequenceOf(value);
  if (written === undefined) {
    const step = readStep(value, "/task");
    return "kind" in step ? step : { steps: [step], isSequence: false };
  }
  if (!Array.isArray(written) || written.length === 0 || written.length > MAX_STEPS) {
    return violationAt("/task", "type", `must be a call, or a sequence of 1 to ${MAX_STEPS} calls`);
  }
  const steps: ExecutionRequest[] = [];
  for (const [index, one] of written.entries()) {
    const step = readStep(one, `/task/${index}`);
    if ("kind" in step) return step;
    steps.push(step);
  }
  return { steps, isSequence: true };
}

function sequenceOf(value: unknown): unknown {
  return isRecord(value) ? (value["steps"] ?? value["sequence"]) : undefined;
}

function readStep(value: unknown, place: string): ExecutionRequest | Refusal {
  if (!isRecord(value))
    return violationAt(place, "type", `must be a call, got ${quoteValue(value)}`);
  const { method, path = "/", input, parameters = input } = value;
  if (method === undefined || value["action"] !== undefined) return readExecution(value);
  // A step that calls EXECUTE is read as the action that it would dispatch.
  if (method === "EXECUTE" && path === "/" && isRecord(parameters))
    return readExecution(parameters);
  return readExecution({
    action: { method, path },
    ...(parameters === undefined ? {} : { parameters }),
  });
}

/** The form of a task in runs. */
export function describeTask({ steps }: Task): string {
  const [first, ...others] = steps.map(({ action }) => describeAction(action));
  return others.length === 0 ? (first ?? "") : `${first} and ${others.length} more`;
}

/** `sha256:` and the hash of the task's canonical form; undefined if it has none. */
export function taskHash(task: unknown): string | undefined {
  try {
    return `sha256:${hash("sha256", canonicalForm({ task } satisfies JsonRecord))}`;
  } catch {
    // Numbers that are not finite and lone surrogates have no canonical form.
    return undefined;
  }
}

/** The destination of an outcome, on this server. */
export type Callback =
  | { readonly kind: "inbox" }
  | { readonly kind: "endpoint"; readonly method: string; readonly path: string };

export interface CallbackPlaces {
  /** True if the protocol's own NOTIFY serves inboxes here. */
  readonly hasInboxes: boolean;
  /** True if a pair is registered here. */
  isEndpoint(method: string, path: string): boolean;
}

/**
 * Reads the callback: the caller's inbox, or an endpoint of this server, to be called as the caller. Anything else is
 * refused; URLs are never fetched.
 */
export function readCallback(
  written: unknown,
  agentId: string,
  { hasInboxes, isEndpoint }: CallbackPlaces,
): Callback | Refusal {
  if (typeof written === "string") {
    const inbox = ["inbox", agentId, `agtp://${agentId}`];
    if (inbox.includes(written)) {
      return hasInboxes
        ? { kind: "inbox" }
        : refused("must be an endpoint: no inbox is served here");
    }
    if (/^[a-z][a-z0-9+.-]*:/i.test(written)) {
      return refused(`is a URL, which is never fetched, got ${quoteValue(written)}`);
    }
  }
  const action = readAction(written);
  if (typeof action === "string" || action.kind === "name") return refused(EXPECTED);
  const { method, path } = action;
  if (isEndpoint(method, path)) return { kind: "endpoint", method, path };
  return refused(`names no endpoint of this server, got ${quoteValue(`${method} ${path}`)}`);
}

const EXPECTED = 'must be "inbox", or an endpoint of this server like "RECEIVE /outcomes"';

function refused(message: string): Refusal {
  return violationAt("/callback", "format", message);
}

/** The operator's endpoints, and inboxes if the protocol's own NOTIFY is served. */
export async function callbackPlaces({
  routes,
  methodPolicy,
  drive,
}: DelegationContext): Promise<CallbackPlaces> {
  const operators = routes.filter(({ tier }) => tier === "B");
  const { registry } = await drive(creatingRegistry(operators));
  const isEndpoint = (method: string, path: string): boolean =>
    registry.find(method, splitTarget(path).path) !== undefined;
  const { method, path } = canonicalPair(methodPolicy, { method: "NOTIFY", path: "/" });
  const isOurs = method === "NOTIFY" && path === "/" && !isEndpoint(method, path);
  return { hasInboxes: isOurs, isEndpoint };
}
