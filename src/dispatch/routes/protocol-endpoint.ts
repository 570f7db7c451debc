/**
 * Endpoints of the protocol itself (tier A), written down compactly and completed into the same
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
  /** "informational": it changes nothing. */
  readonly impact: Impact;
  /** The names of what it answers 422 with, in words of its own. */
  readonly errors?: readonly string[];
  /** The scopes that a caller needs; without them the handler decides for itself. */
  readonly requiredScopes?: readonly string[];
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly isListed: boolean;
  /** False: QUERY does not find it either, since there is nothing to be had by it. */
  readonly isFindable?: boolean;
  /**
   * Input members that name something: where the handler says 404, which must leave all as it was,
   * it is asked again once what other nodes have made is known.
   */
  readonly looksUp?: readonly string[];
  readonly handler: RouteHandler;
}

/** The full primitive of a protocol endpoint, as the manifest shows it. */
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

/** The surroundings of protocol endpoints. */
interface ProtocolContext {
  readonly work?: Pick<TaskQueue, "pace">;
  readonly state?: { readonly view: Pick<ViewLease, "catchUp"> };
}

/** The route of a protocol endpoint. */
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

/** The routes of floor methods and of other endpoints of the protocol. */
export function protocolRoutes(
  endpoints: readonly ProtocolEndpoint[],
  context: ProtocolContext,
): readonly Route[] {
  return endpoints.map((endpoint) => protocolRoute(endpoint, context));
}

/** A shorter schema's validator is generated in a few milliseconds, where the build has made none. */
const LONG_SCHEMA = 1000;

/** Makes the validators of the protocol's long schemas, so that the first who calls does not wait for that. */
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
