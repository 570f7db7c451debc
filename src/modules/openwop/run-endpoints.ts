/**
 * Runs over AGTP: the same runs as over HTTP, each agent's its own. 262 without an Agent-ID · 404
 * `run_not_found` for a run that is not there, and for another's · 422 by the name of what is wrong.
 * OpenWOP RFC 0072 §B
 */

import type { JsonRecord } from "../../base/json-value.ts";
import { seesAll } from "../../dispatch/caller/caller.ts";
import type { Concealment } from "../../dispatch/concealment.ts";
import { authorizationRequired, type Refusal } from "../../dispatch/refusals/refusal.ts";
import type { ProtocolEndpoint } from "../../dispatch/routes/protocol-endpoint.ts";
import type { ExchangeView, RouteHandler } from "../../dispatch/routes/route.ts";
import type { Impact } from "../../endpoint/endpoint.ts";
import type { Call, HandlerResult } from "../../handlers/handler.ts";
import { agtpOwner } from "./dispatch-call.ts";
import type { ApiScope } from "./http/api-keys.ts";
import {
  cancelRun,
  confirmInterrupt,
  forkRun,
  type RunCallOptions,
  readRun,
  readRunEvents,
  startRun,
} from "./run-calls.ts";
import { RUN_PARAMETERS } from "./runs/make-run.ts";
import type { RunCaller } from "./runs/run-entry.ts";
import type { RunRefusalCode } from "./runs/run-refusal.ts";

interface RunEndpointsOptions extends RunCallOptions {
  /** The tenant that owns the runs of AGTP callers. */
  readonly tenant: string;
  /** True if DISCOVER lists them: there is something to run. */
  readonly isListed: boolean;
  readonly redactor: Concealment;
}

/** The refusals of each, by name; those that the protocol has for everybody go without saying. */
const NO_RUN = ["run_not_found"] as const;
const NO_START = ["validation_error", "rate_limited"] as const;
const ERRORS = {
  start: [...NO_START, "agent_not_found", "mock_provider_forbidden"],
  read: NO_RUN,
  readEvents: [...NO_RUN, "validation_error"],
  cancel: NO_RUN,
  fork: [...NO_RUN, ...NO_START, "fork_invalid_seq"],
  confirm: [
    ...NO_RUN,
    ...([
      "interrupt_not_found",
      "interrupt_already_resolved",
      "interrupt_cancelled",
      "validation_error",
    ] as const),
  ],
} satisfies Readonly<Record<string, readonly RunRefusalCode[]>>;

const RUN_ID = { type: "string", minLength: 1, maxLength: 128 };
const TEXT = { type: "string", minLength: 1, maxLength: 1024 };
const MAX_WAIT_SECONDS = 300;
const WAIT = { type: "number", minimum: 0, maximum: MAX_WAIT_SECONDS };
const SEQUENCE = { type: "integer", minimum: -1, maximum: 99_999_999 };

type RunHandler = (call: Call, caller: RunCaller) => Promise<HandlerResult | Refusal>;

/** Makes the six endpoints of runs. */
export function runEndpoints(options: RunEndpointsOptions): readonly ProtocolEndpoint[] {
  const { isListed } = options;
  const endpoint = (
    from: Pick<ProtocolEndpoint, "method" | "path" | "description"> & {
      readonly properties: JsonRecord;
      readonly required?: readonly string[];
      /** As the HTTP twin's key does. */
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
      ...{ isReading: reads, endsInTime: true, startsWork: !reads },
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
      handler: asCaller(options, handle),
    };
  };
  return [
    endpoint({
      ...{ method: "EXECUTE", path: "/runs" },
      description: "Starts a run of a workflow, or of one agent.",
      ...{ scopes: ["runs:create"], errors: ERRORS.start },
      properties: { ...RUN_PARAMETERS, wait_seconds: WAIT },
      handle: (call, caller) => startRun(options, call, caller),
    }),
    endpoint({
      ...{ method: "QUERY", path: "/runs/{run_id}", required: ["run_id"] },
      ...{ scopes: ["runs:read"], errors: ERRORS.read, impact: "informational" },
      description: "Returns a run of the calling agent as it stands.",
      properties: { run_id: RUN_ID },
      handle: (call, caller) => readRun(options, call, caller),
    }),
    endpoint({
      ...{ method: "QUERY", path: "/runs/{run_id}/events", required: ["run_id"] },
      ...{ scopes: ["runs:read"], errors: ERRORS.readEvents, impact: "informational" },
      description: "Returns the events of a run, page by page.",
      properties: { run_id: RUN_ID, lastSequence: SEQUENCE, timeout: WAIT },
      handle: (call, caller) => readRunEvents(options, call, caller),
    }),
    endpoint({
      ...{ method: "CANCEL", path: "/runs/{run_id}", required: ["run_id"] },
      description: "Ends a run that is not over.",
      // The result that it would have had is gone.
      ...{ scopes: ["runs:cancel"], errors: ERRORS.cancel, impact: "irreversible" },
      properties: { run_id: RUN_ID, reason: TEXT },
      handle: (call, caller) => cancelRun(options, call, caller),
    }),
    endpoint({
      ...{ method: "FORK", path: "/runs/{run_id}", required: ["run_id", "mode"] },
      description: "Starts a run from another's log: a replay of it, or a branch off it.",
      ...{ scopes: ["runs:create", "runs:read"], errors: ERRORS.fork },
      properties: {
        ...{ run_id: RUN_ID, mode: { enum: ["replay", "branch"] } },
        ...{ fromSeq: { type: "integer", minimum: 0 }, runOptionsOverlay: { type: "object" } },
      },
      handle: (call, caller) => forkRun(options, call, caller),
    }),
    endpoint({
      ...{ method: "CONFIRM", path: "/runs/{run_id}/interrupts/{node_id}" },
      description: "Answers what a node of a run waits for.",
      // The first word counts, and there is no second one.
      ...{ scopes: ["approvals:respond"], errors: ERRORS.confirm, impact: "irreversible" },
      required: ["run_id", "node_id", "status"],
      properties: {
        ...{ run_id: RUN_ID, node_id: RUN_ID, reason: TEXT, resume_value: {} },
        status: { enum: ["accepted", "rejected", "deferred"] },
      },
      handle: (call, caller) => confirmInterrupt(options, call, caller),
    }),
  ];
}

function asCaller({ tenant }: RunEndpointsOptions, handle: RunHandler): RouteHandler {
  return async (call: Call, { caller }: ExchangeView) => {
    if (call.agentId === undefined) {
      return authorizationRequired("credentials-missing", "runs are an agent's: it must be named");
    }
    return handle(call, {
      owner: agtpOwner(tenant, call),
      sees: seesAll(caller) ? "all" : "own",
    });
  };
}
