/**
 * Endpoints of the protocol itself (tier A), in a compact form that is completed to the same
 * endpoint primitive that operators declare, so that one registry and one pipeline serve both.
 * AGTP-API §5.8, §6.1
 */
import { filterPaced, type Paced } from "../../base/paced.ts";
import type { TaskQueue } from "../../base/task-queue.ts";
import type { Capability, EndpointDefinition, Impact } from "../../endpoint/endpoint.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { compileOwn } from "../../schema/schema.ts";
import type { ViewLease } from "../../state/state.ts";
import { withLongAnswers } from "../handling/long-answers.ts";
import { createRoute, type Route, type RouteHandler, type RouteOptions } from "./route.ts";
import { withSecondLook } from "./second-look.ts";

export interface ProtocolEndpoint extends Omit<RouteOptions, "tier" | "input" | "isReading"> {
  readonly method: string;
  readonly path: string;
  readonly description: string;
  readonly capability: Capability;
  /** The impact; "informational" changes nothing. */
  readonly impact: Impact;
  /** The names of its own 422 errors. */
  readonly errors?: readonly string[];
  /** The required scopes; without them the handler decides. */
  readonly requiredScopes?: readonly string[];
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly isListed: boolean;
  /** False if QUERY does not find it either, since it is not useful by itself. */
  readonly isFindable?: boolean;
  /**
   * Input members with names of things. If the handler answers 404, which must have no effect, it
   * is called again once the changes of other nodes are known.
   */
  readonly looksUp?: readonly string[];
  readonly handler: RouteHandler;
}

/** Builds the full primitive of a protocol endpoint, as the manifest shows it. */
function protocolDefinition(from: ProtocolEndpoint, isReading: boolean): EndpointDefinition {
  return {
    file: "",
    method: from.method,
    path: from.path,
    description: from.description,
    namespace: "agtp",
    semantic: {
      intent: from.description,
      actor: "agent",
      outcome: from.description,
      capability: from.capability,
      confidence: 1,
      impact: from.impact,
      is_idempotent: isReading,
    },
    inputSchema: from.inputSchema,
    outputSchema: from.outputSchema ?? {},
    errors: from.errors ?? [],
    requiredScopes: from.requiredScopes ?? [],
    handler: { type: "registered_function", function: "" },
  };
}

/** The services that protocol endpoints use. */
interface ProtocolContext {
  readonly work?: Pick<TaskQueue, "pace">;
  readonly state?: { readonly view: Pick<ViewLease, "catchUp"> };
}

/** Builds the route of a protocol endpoint. */
export function protocolRoute(
  from: ProtocolEndpoint,
  { state, work }: ProtocolContext = {},
): Route {
  const isReading = from.impact === "informational";
  const definition = protocolDefinition(from, isReading);
  const input = compileOwn(from.inputSchema);
  const looking = withSecondLook(from.handler, from.looksUp ?? [], state?.view ?? {});
  const handler = work === undefined ? looking : withLongAnswers(looking, work);
  const isFindable = from.isListed || (from.isFindable ?? true);
  const rest = { tier: "A", input, isReading, isFindable } as const;
  return createRoute(definition, handler, { ...from, ...rest });
}

/** Builds the routes of protocol endpoints, floor methods included. */
export function protocolRoutes(
  endpoints: readonly ProtocolEndpoint[],
  context: ProtocolContext,
): readonly Route[] {
  return endpoints.map((endpoint) => protocolRoute(endpoint, context));
}

/** The schema length, in characters, up to which a missing validator is generated within a few milliseconds. */
const LONG_SCHEMA = 1000;

/** Generates the validators of the protocol's long schemas, so that the first caller does not wait. */
export function* preparingInputs(routes: readonly Route[]): Paced<void> {
  const own = yield* filterPaced(routes, ({ tier }) => tier === "A");
  const long = own
    .map(({ input }) => ({ input, length: JSON.stringify(input.schema).length }))
    .filter(({ length }) => length >= LONG_SCHEMA);
  for (const { input } of long.sort((one, other) => one.length - other.length)) {
    yield;
    input.check({}, true);
  }
}
