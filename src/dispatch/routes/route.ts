/**
 * A route: an endpoint ready to be called, with its definition, compiled schemas and bound handler.
 * Everything that can be decided at start-up is.   AGTP-API §6.1 (tiers)
 */
import { nameText } from "../../base/kept-text.ts";
import type { Pair } from "../../catalog/pair.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import { type InputShape, inputShape } from "../../endpoint/input-shape.ts";
import type { RecipeStep } from "../../endpoint/recipe.ts";
import type {
  AwaitedAnswer,
  CallSurroundings,
  CallUpstream,
} from "../../handlers/call-upstream.ts";
import type { Call, HandlerResult } from "../../handlers/handler.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import type { CompiledSchema, SchemaViolation } from "../../schema/schema.ts";
import type { Operator } from "../../state/registers/operator.ts";
import type { Request } from "../../wire/message.ts";
import type { Caller } from "../caller/caller.ts";
import type { PriorAction } from "../caller/delegation.ts";
import type { Peer } from "../caller/peer.ts";
import type { Concealment } from "../concealment.ts";
import type { Refusal } from "../refusals/refusal.ts";

/** Tier A: the protocol's own. Tier B: the operator's. Tier C: a contract's. */
type Tier = "A" | "B" | "C";

/** The contract that an action runs under; keys are the record's.   AGTP-API §10.1.6 */
export interface ContractReference {
  readonly synthesis_id: string;
  readonly contract_hash: string;
  readonly negotiation_origin: string;
}

/** The view of the exchange that protocol routes get besides the call. */
export interface ExchangeView {
  readonly method: string;
  readonly requestedMethod: string | undefined;
  readonly path: string;
  readonly responseId: string;
  readonly request: Pick<Request, "body">;
  readonly peer: Peer;
  readonly caller: Caller;
  /** Set for an inner dispatch, whose answer goes to the dispatching handler only. */
  readonly inner?: CallSurroundings["inner"];
  /** The person that records name besides the agent. */
  readonly person?: Operator | undefined;
  /** The contract that runs; undefined if none does. */
  contract: ContractReference | undefined;
  header(name: string): string | undefined;
  /** Adds an action of another agent that this one depends on. */
  notePriorAction(prior: PriorAction): void;
  /** Notes scopes that an inner dispatch required; a replay of the answer requires them as well. */
  notePartScopes(scopes: readonly string[]): void;
  /** Notes a change, so that a later failure does not claim that nothing was done. */
  markActed(): void;
  /** Notes that the same request gets another answer once an operator has decided. */
  markAwaiting(): void;
  /** The connection to the handler's upstream, which may ask a question. */
  readonly upstream?: CallUpstream | undefined;
  /** The agent that the request proved to be about. */
  addressed: AgentDocument | undefined;
}

/**
 * The handler of a route. Protocol routes may refuse and see the exchange; the operator's handlers
 * have named errors and only the call.
 */
export type RouteHandler = (call: Call, exchange: ExchangeView) => Outcome | Promise<Outcome>;

/** The results that a route's handler may return. */
export type Outcome = HandlerResult | Refusal | AwaitedAnswer;

/** The log line's parts before and after its duration. */
export interface LoggedOpening {
  readonly opening: string;
  readonly code: string;
}

export interface Route {
  readonly method: string;
  /** The path template. */
  readonly path: string;
  readonly tier: Tier;
  /** True for a route that only reads; `anonymous_discovery` opens those of tier A to anonymous callers. */
  readonly isReading: boolean;
  /** True if it starts an agent or a task of this server, which no unknown caller may. */
  readonly startsWork: boolean;
  /** True if a verified client certificate may replace the Agent-ID. */
  readonly takesCertificate: boolean;
  readonly definition: EndpointDefinition;
  /** The definition's scopes, at hand for every request. */
  readonly requiredScopes: readonly string[];
  readonly input: CompiledSchema;
  /** The output schema; undefined if results are not checked, as for tier A, which builds its own bodies. */
  readonly output: CompiledSchema | undefined;
  readonly shape: InputShape;
  readonly errors: ReadonlySet<string>;
  /** The AGTP-Endpoint-Warning of a deprecated endpoint, §6.5. */
  readonly warning: string | undefined;
  readonly handler: RouteHandler;
  /** The input member with the same meaning as the Idempotency-Key header. */
  readonly idempotencyMember: string | undefined;
  /** The input members whose depth the handler itself limits. */
  readonly deepMembers: ReadonlySet<string> | undefined;
  /** True if the handler keeps its deadline by itself, and answers in its own words. */
  readonly endsInTime: boolean;
  /** Removes secrets from refusals, and from the path in logs and records. */
  readonly concealment: Concealment | undefined;
  /** Input rules that a schema cannot express; a violation is a 422. */
  readonly precheck: InputRules | undefined;
  /** True if DISCOVER /methods and the manifest list it. */
  readonly isListed: boolean;
  /** True if QUERY finds it. */
  readonly isFindable: boolean;
  /** True if no operator's endpoint may take its place. */
  readonly isReserved: boolean;
  /** The steps that a composition dispatches; undefined for other handlers. */
  readonly steps: readonly RecipeStep[] | undefined;
  /** Returns the pair that an input makes it dispatch, as for EXECUTE; undefined if that is unknown. */
  readonly leadsTo: LeadsTo | undefined;
  /** Owned by the log. */
  logged: LoggedOpening | undefined;
}

export interface RegisteredRoute extends Route {
  readonly tier: Exclude<Tier, "C">;
}

/** Returns the pair that a call will dispatch, with its input. */
export type LeadsTo = (
  input: Readonly<Record<string, unknown>>,
  callerId: string | undefined,
) => (Pair & { readonly input: Readonly<Record<string, unknown>> }) | undefined;

/** Returns the violations of an input that the schema accepts; undefined if there are none. */
type InputRules = (
  input: Readonly<Record<string, unknown>>,
) => readonly SchemaViolation[] | undefined;

/** The members that a route takes from its definition, or sets itself. */
type DefinedMembers =
  | ("method" | "path" | "definition" | "requiredScopes" | "errors" | "warning")
  | ("handler" | "logged");

/** The properties of a route beyond its definition. */
export interface RouteOptions
  extends Pick<Route, "tier" | "input">,
    Partial<Omit<Route, DefinedMembers | "tier" | "input">> {}

/**
 * Creates a route. Routes are made only here, so that all have the same members, which keeps the
 * hot path fast.
 */
export function createRoute(
  definition: EndpointDefinition,
  handler: RouteHandler,
  options: RouteOptions,
): Route {
  const { method, path, requiredScopes, inputSchema } = definition;
  return {
    ...{ method: nameText(method), path: nameText(path), definition, requiredScopes, handler },
    tier: options.tier,
    isReading: options.isReading ?? false,
    startsWork: options.startsWork ?? false,
    takesCertificate: options.takesCertificate ?? false,
    endsInTime: options.endsInTime ?? false,
    input: options.input,
    output: options.output,
    shape: options.shape ?? inputShape(inputSchema),
    errors: new Set(definition.errors),
    warning: endpointWarning(definition),
    idempotencyMember: options.idempotencyMember,
    deepMembers: options.deepMembers,
    concealment: options.concealment,
    precheck: options.precheck,
    isListed: options.isListed ?? true,
    isFindable: options.isFindable ?? true,
    isReserved: options.isReserved ?? false,
    steps: options.steps,
    leadsTo: options.leadsTo,
    logged: undefined,
  };
}

/** `deprecated; successor=RESERVE /rooms; removed_in=3.0.0`   AGTP-API §6.5 */
export function endpointWarning(definition: EndpointDefinition): string | undefined {
  const { deprecated } = definition;
  if (deprecated === undefined) return undefined;
  const successor = [deprecated.successor?.method, deprecated.successor?.path]
    .filter((part) => part !== undefined)
    .join(" ");
  return [
    "deprecated",
    ...(successor === "" ? [] : [`successor=${successor}`]),
    ...(deprecated.removed_in === undefined ? [] : [`removed_in=${deprecated.removed_in}`]),
  ].join("; ");
}
