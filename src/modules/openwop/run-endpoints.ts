/**
 * Runs over AGTP, the same as over HTTP; each agent sees its own. 262 without an Agent-ID · 404 `run_not_found` for
 * missing runs and those of others · 422 named after the error.   OpenWOP RFC 0072 §B
 */
import { given, type JsonRecord, textIn } from "../../base/json-value.ts";
import { seesAll } from "../../dispatch/caller/caller.ts";
import type { OperatorPolicy } from "../../dispatch/caller/operator.ts";
import type { Concealment } from "../../dispatch/concealment.ts";
import type { QueryCaller } from "../../dispatch/module/query-source.ts";
import {
  authorizationRequired,
  namedError,
  type Refusal,
} from "../../dispatch/refusals/refusal.ts";
import {
  agentNotInstalled,
  confirmationForbidden,
  runNotFound,
  tooManyRuns,
} from "../../dispatch/refusals/task-refusals.ts";
import type { ProtocolEndpoint } from "../../dispatch/routes/protocol-endpoint.ts";
import type { Impact } from "../../endpoint/endpoint.ts";
import type { Call, HandlerResult } from "../../handlers/handler.ts";
import { agtpOwner, type DispatchOptions } from "./agent-endpoints.ts";
import { answererOf, confirmedAnswer } from "./confirm-question.ts";
import type { ApiScope } from "./http/api-keys.ts";
import { interruptOf, refuseAnswer } from "./runs/answer-run.ts";
import { RUN_PARAMETERS } from "./runs/make-run.ts";
import { isOver, isRefused, type Run, type RunRefusal, type RunRefusalCode } from "./runs/run.ts";
import type { RunCaller } from "./runs/run-entry.ts";
import type { RunHost } from "./runs/run-host.ts";
import type { RunLog } from "./runs/run-log.ts";
import { acceptedRun, type Interrupt, runResult, runSnapshot } from "./runs/run-state.ts";

/** The dependencies of the run endpoints. */
interface RunEndpointsOptions extends Pick<DispatchOptions, "tenant" | "serverId" | "maxWaitMs"> {
  readonly host: RunHost;
  /** The Agent-ID of an OpenWOP agent; undefined if it has none here. */
  agtpIdOf(agentId: string, tenant: string): string | undefined;
  /** True if DISCOVER lists them, because something can be run. */
  readonly isListed: boolean;
  readonly policy: OperatorPolicy;
  readonly redactor: Concealment;
}

/** The named refusals of each endpoint, except those common to the protocol. */
const NO_RUN = ["run_not_found"] as const;
const NO_START = ["validation_error", "rate_limited"] as const;
const NO_WORD = [
  "interrupt_not_found",
  "interrupt_already_resolved",
  "interrupt_cancelled",
] as const;
const ERRORS = {
  start: [...NO_START, "agent_not_found", "mock_provider_forbidden"],
  read: NO_RUN,
  readEvents: [...NO_RUN, "validation_error"],
  cancel: NO_RUN,
  fork: [...NO_RUN, ...NO_START, "fork_invalid_seq", "mock_provider_forbidden"],
  confirm: [...NO_RUN, ...NO_WORD, "validation_error"],
} satisfies Readonly<Record<string, readonly RunRefusalCode[]>>;

const RUN_ID = { type: "string", minLength: 1, maxLength: 128 };
const TEXT = { type: "string", minLength: 1, maxLength: 1024 };
const MAX_WAIT_SECONDS = 300;
const WAIT = { type: "number", minimum: 0, maximum: MAX_WAIT_SECONDS };
const SEQUENCE = { type: "integer", minimum: -1, maximum: 99_999_999 };

type Answer = Promise<HandlerResult | Refusal>;
type RunHandler = (
  options: RunEndpointsOptions,
  call: Call,
  caller: RunCaller,
  asker: QueryCaller,
) => Answer;

/** Returns the six endpoints of runs. */
export function runEndpoints(options: RunEndpointsOptions): readonly ProtocolEndpoint[] {
  const { isListed } = options;
  const endpoint = (
    from: Pick<ProtocolEndpoint, "method" | "path" | "description"> & {
      readonly properties: JsonRecord;
      readonly required?: readonly string[];
      /** The scopes that the HTTP operation requires of a key. */
      readonly scopes: readonly ApiScope[];
      readonly errors: readonly RunRefusalCode[];
      readonly impact?: Impact;
      handle: RunHandler;
    },
  ): ProtocolEndpoint => {
    const { method, path, description, properties, required = [], scopes, errors } = from;
    const { impact = "reversible", handle } = from;
    const reads = impact === "informational";
    return {
      ...{ method, path, description, isListed, isFindable: isListed },
      ...{ endsInTime: true, startsWork: !reads },
      ...{ requiredScopes: scopes, errors, impact, concealment: options.redactor },
      capability: reads ? "retrieval" : "domain_spanning",
      ...(reads ? {} : { idempotencyMember: "idempotency_key" }),
      inputSchema: {
        type: "object",
        required,
        properties: reads ? properties : { ...properties, idempotency_key: TEXT },
        additionalProperties: false,
      },
      looksUp: ["run_id"],
      handler: async (call, exchange) => {
        if (call.agentId === undefined) {
          const message = "runs are an agent's: it must be named";
          return authorizationRequired("credentials-missing", message);
        }
        const sees = seesAll(exchange.caller) ? "all" : "own";
        const owner = agtpOwner(options, call, exchange);
        return handle(options, call, { owner, sees }, exchange);
      },
    };
  };
  return [
    endpoint({
      ...{ method: "EXECUTE", path: "/runs" },
      description: "Starts a run of a workflow, or of one agent.",
      ...{ scopes: ["runs:create"], errors: ERRORS.start },
      properties: { ...RUN_PARAMETERS, wait_seconds: WAIT },
      handle: startRun,
    }),
    endpoint({
      ...{ method: "QUERY", path: "/runs/{run_id}", required: ["run_id"] },
      ...{ scopes: ["runs:read"], errors: ERRORS.read, impact: "informational" },
      description: "Returns a run of the calling agent as it stands.",
      properties: { run_id: RUN_ID },
      handle: readRun,
    }),
    endpoint({
      ...{ method: "QUERY", path: "/runs/{run_id}/events", required: ["run_id"] },
      ...{ scopes: ["runs:read"], errors: ERRORS.readEvents, impact: "informational" },
      description: "Returns the events of a run, page by page.",
      properties: { run_id: RUN_ID, lastSequence: SEQUENCE, timeout: WAIT },
      handle: readRunEvents,
    }),
    endpoint({
      ...{ method: "CANCEL", path: "/runs/{run_id}", required: ["run_id"] },
      description: "Ends a run that is not over.",
      // Irreversible: the run's result is lost.
      ...{ scopes: ["runs:cancel"], errors: ERRORS.cancel, impact: "irreversible" },
      properties: { run_id: RUN_ID, reason: TEXT },
      handle: cancelRun,
    }),
    endpoint({
      ...{ method: "FORK", path: "/runs/{run_id}", required: ["run_id", "mode"] },
      description: "Starts a run from another's log: a replay of it, or a branch off it.",
      ...{ scopes: ["runs:create", "runs:read"], errors: ERRORS.fork },
      properties: {
        ...{ run_id: RUN_ID, mode: { enum: ["replay", "branch"] } },
        ...{ fromSeq: { type: "integer", minimum: 0 }, runOptionsOverlay: { type: "object" } },
      },
      handle: forkRun,
    }),
    endpoint({
      ...{ method: "CONFIRM", path: "/runs/{run_id}/interrupts/{node_id}" },
      description: "Answers what a node of a run waits for.",
      // Irreversible: an answer cannot be withdrawn.
      ...{ scopes: ["approvals:respond"], errors: ERRORS.confirm, impact: "irreversible" },
      required: ["run_id", "node_id", "status"],
      properties: {
        ...{ run_id: RUN_ID, node_id: RUN_ID, reason: TEXT, resume_value: {} },
        status: { enum: ["accepted", "rejected", "deferred"] },
      },
      handle: confirmInterrupt,
    }),
  ];
}

/** EXECUTE /runs */
async function startRun(
  { host, maxWaitMs }: RunEndpointsOptions,
  call: Call,
  { owner }: RunCaller,
): Answer {
  const { wait_seconds: wait = 0, idempotency_key: _, ...body } = call.input;
  const log = await host.create(body, owner);
  if (isRefused(log)) return refuse(log);
  const waitMs = Math.min(Number(wait) * 1000, maxWaitMs);
  await log.atRest(host.whileServing(call.signal, waitMs));
  if (!isOver(log.state.status)) return { status: 202, body: acceptedRun(log) };
  const result = runResult(log.state);
  const snapshot = runSnapshot(log.run, log.state);
  return { body: { ...snapshot, ...given({ result }) } };
}

/** QUERY /runs/{run_id} */
async function readRun({ host }: RunEndpointsOptions, { input }: Call, caller: RunCaller): Answer {
  const log = await host.find(String(input["run_id"]), caller);
  return isRefused(log) ? refuse(log) : { body: runSnapshot(log.run, log.state) };
}

/** QUERY /runs/{run_id}/events; the Continuation-Token is the last sequence */
async function readRunEvents(
  { host, maxWaitMs }: RunEndpointsOptions,
  { input, headers, signal }: Call,
  caller: RunCaller,
): Answer {
  const { run_id: runId, lastSequence, timeout = 0 } = input;
  const after = lastSequence ?? readToken(headers["continuation-token"]);
  if (typeof after !== "number") {
    return namedError("validation_error", "the Continuation-Token is none of this run", undefined);
  }
  const log = await host.find(String(runId), caller);
  if (isRefused(log)) return refuse(log);
  const waitMs = Math.min(Number(timeout) * 1000, maxWaitMs);
  await log.changed(after, host.whileServing(signal, waitMs));
  const page = await log.page(after);
  const last = page.events.at(-1)?.sequence ?? after;
  return { body: page, ...(last < 0 ? {} : { headers: { "Continuation-Token": String(last) } }) };
}

/** The token's sequence; -1 without a token, undefined if it is malformed. */
function readToken(token: string | undefined): number | undefined {
  if (token === undefined) return -1;
  return /^\d{1,8}$/.test(token) ? Number(token) : undefined;
}

/** CANCEL /runs/{run_id} */
async function cancelRun(
  { host }: RunEndpointsOptions,
  { input }: Call,
  caller: RunCaller,
): Answer {
  const { run_id: runId, reason } = input;
  const log = await host.cancel(String(runId), textIn(reason), caller);
  return isRefused(log) ? refuse(log) : { body: standing(log) };
}

/** FORK /runs/{run_id} */
async function forkRun({ host }: RunEndpointsOptions, { input }: Call, caller: RunCaller): Answer {
  const { run_id: sourceRunId, idempotency_key: _, ...body } = input;
  const log = await host.fork(String(sourceRunId), body, caller);
  if (isRefused(log)) return refuse(log);
  const { mode, fromSeq = 0 } = body;
  return { status: 202, body: { ...acceptedRun(log), sourceRunId, mode, fromSeq } };
}

/** CONFIRM /runs/{run_id}/interrupts/{node_id} */
async function confirmInterrupt(
  { host, agtpIdOf, policy }: RunEndpointsOptions,
  { input, agentId }: Call,
  caller: RunCaller,
  asker: QueryCaller,
): Answer {
  const { status, resume_value: value } = input;
  const [runId, nodeId] = [String(input["run_id"]), String(input["node_id"])];
  const found = await host.find(runId, caller);
  if (isRefused(found)) return refuse(found);
  const interrupt = interruptOf(found.state, nodeId);
  if (interrupt !== undefined && isOwnDoubt(found.run, interrupt, agentId, agtpIdOf)) {
    return confirmationForbidden("the agent that asks may not give itself the word");
  }
  if (status === "deferred") return defer(found, nodeId);
  const reason = textIn(input["reason"]);
  // Without an interrupt the answer is refused later, so its kind does not matter.
  const word = confirmedAnswer(interrupt?.kind ?? "low-confidence", { status, reason, value });
  const answer = {
    ...word,
    ...answererOf(asker, policy),
    ...given({ interruptId: interrupt?.interruptId }),
  };
  const answered = await host.answer(runId, nodeId, answer, caller);
  if (isRefused(answered)) return refuse(answered);
  const { log, interruptId, eventId, outcome, votes } = answered;
  const receipt = { attestation_id: eventId, timestamp: new Date().toISOString(), interruptId };
  const said = outcome === undefined ? { vote: status, votes } : { confirmed: status };
  return { body: { ...receipt, nodeId, ...said, ...standing(log) } };
}

/** Tells whether the caller would approve its own decision, or a gate of a run that it started. */
function isOwnDoubt(
  { owner }: Run,
  { kind, data }: Interrupt,
  agentId: string | undefined,
  agtpIdOf: RunEndpointsOptions["agtpIdOf"],
): boolean {
  if (agentId === undefined) return false;
  if (kind === "approval") return owner.agentId === agentId;
  return agtpIdOf(String(data["agentId"]), owner.tenant) === agentId;
}

/** Acknowledges an interrupt without changing it. */
function defer(log: RunLog, nodeId: string): HandlerResult | Refusal {
  const refusal = refuseAnswer(log.state, nodeId);
  if (refusal !== undefined) return refuse(refusal);
  const interruptId = interruptOf(log.state, nodeId)?.interruptId;
  return { body: { interruptId, nodeId, confirmed: "deferred", ...standing(log) } };
}

function standing({ run, state }: RunLog): JsonRecord {
  return { runId: run.runId, status: state.status };
}

function refuse({ code, message, details }: RunRefusal): Refusal {
  switch (code) {
    case "run_not_found":
      return runNotFound();
    case "agent_not_found":
      return agentNotInstalled();
    case "rate_limited":
      return tooManyRuns(message);
    case "forbidden":
      return confirmationForbidden(message);
    default:
      return namedError(code, message, details);
  }
}
