/**
 * A route is an endpoint ready to be called: its definition, compiled schemas and bound handler,
 * with everything a request needs decided at start-up.   AGTP-API §6.1 (tiers)
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

/** The contract that an action is done under; keys of the record.   AGTP-API §10.1.6 */
export interface ContractReference {
  readonly synthesis_id: string;
  readonly contract_hash: string;
  readonly negotiation_origin: string;
}

/** The view of the exchange that a protocol route has beside the call. */
export interface ExchangeView {
  readonly method: string;
  readonly requestedMethod: string | undefined;
  readonly path: string;
  readonly responseId: string;
  readonly request: Pick<Request, "body">;
  readonly peer: Peer;
  readonly caller: Caller;
  /** Set where a handler has dispatched it: its answer is that handler's, and leaves nowhere. */
  readonly inner?: CallSurroundings["inner"];
  /** The person whom records name beside the agent. */
  readonly person?: Operator | undefined;
  /** The contract that is run; undefined: none is. */
  contract: ContractReference | undefined;
  header(name: string): string | undefined;
  /** Notes an action of another agent that this one depends on. */
  notePriorAction(prior: PriorAction): void;
  /** Notes scopes that a part took: whoever is given the answer again has to hold them then. */
  notePartScopes(scopes: readonly string[]): void;
  /** Notes that something was done, so that a later failure is not answered as if nothing was. */
  markActed(): void;
  /** Notes that the same request has another answer once an operator has decided. */
  markAwaiting(): void;
  /** The part of a handler whose upstream may ask back. */
  readonly upstream?: CallUpstream | undefined;
  /** The agent that the request turned out to be about. */
  addressed: AgentDocument | undefined;
}

/**
 * Protocol routes may refuse, and look at the exchange itself; the operator's handlers have named
 * errors and the call alone.
 */
export type RouteHandler = (call: Call, exchange: ExchangeView) => Outcome | Promise<Outcome>;

/** The results that a route's handler may return. */
export type Outcome = HandlerResult | Refusal | AwaitedAnswer;

/** The fields of a line of the log in front of its duration, and those right behind it. */
export interface LoggedOpening {
  readonly opening: string;
  readonly code: string;
}

export interface Route {
  readonly method: string;
  /** The path template. */
  readonly path: string;
  readonly tier: Tier;
  /** Reading routes of tier A are open to anonymous callers by `anonymous_discovery`. */
  readonly isReading: boolean;
  /** Starts an agent or a task of this server, which no unknown caller may. */
  readonly startsWork: boolean;
  /** A verified client certificate stands for an Agent-ID here. */
  readonly takesCertificate: boolean;
  readonly definition: EndpointDefinition;
  /** The scopes of the definition, at hand for every request. */
  readonly requiredScopes: readonly string[];
  readonly input: CompiledSchema;
  /** Undefined: what the handler returns is not checked (tier A builds its own bodies). */
  readonly output: CompiledSchema | undefined;
  readonly shape: InputShape;
  readonly errors: ReadonlySet<string>;
  /** The AGTP-Endpoint-Warning of a deprecated endpoint, §6.5. */
  readonly warning: string | undefined;
  readonly handler: RouteHandler;
  /** An input member that says the same as the Idempotency-Key header. */
  readonly idempotencyMember: string | undefined;
  /** Input members whose depth is the handler's to refuse. */
  readonly deepMembers: ReadonlySet<string> | undefined;
  /** The handler ends by itself within the handler deadline, and says so in its own words. */
  readonly endsInTime: boolean;
  /** Takes secrets out of what is refused, and out of the path where it is written down. */
  readonly concealment: Concealment | undefined;
  /** Rules on the input that a schema cannot express; a violation is a 422. */
  readonly precheck: InputRules | undefined;
  /** DISCOVER /methods and the manifest's endpoints list it. */
  readonly isListed: boolean;
  /** QUERY finds it. */
  readonly isFindable: boolean;
  /** No endpoint of the operator's takes its place. */
  readonly isReserved: boolean;
  /** The steps that a composition dispatches; undefined for other handlers. */
  readonly steps: readonly RecipeStep[] | undefined;
  /** Tells the pair that an input makes it dispatch, as for EXECUTE; undefined: it cannot be told. */
  readonly leadsTo: LeadsTo | undefined;
  /** Left here by the log, and looked at by nobody else. */
  logged: LoggedOpening | undefined;
}

export interface RegisteredRoute extends Route {
  readonly tier: Exclude<Tier, "C">;
}

/** The pair that a call will dispatch, and its input. */
export type LeadsTo = (
  input: Readonly<Record<string, unknown>>,
  callerId: string | undefined,
) => (Pair & { readonly input: Readonly<Record<string, unknown>> }) | undefined;

/** The fault of an input that the schema accepts; undefined: nothing. */
type InputRules = (
  input: Readonly<Record<string, unknown>>,
) => readonly SchemaViolation[] | undefined;

/** The members of a route that its definition says, and that it is left with. */
type DefinedMembers =
  | ("method" | "path" | "definition" | "requiredScopes" | "errors" | "warning")
  | ("handler" | "logged");

/** The properties of a route that no definition has. */
export interface RouteOptions
  extends Pick<Route, "tier" | "input">,
    Partial<Omit<Route, DefinedMembers | "tier" | "input">> {}

/** The one way to make a route: all of them have the same members, which the hot path is fast by. */
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
