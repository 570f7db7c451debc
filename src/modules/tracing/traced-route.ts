/** The shared parts of a route's spans, and the header fields of the trace context. */
import { parseTraceParent } from "@opentelemetry/core";
import type { TraceFields } from "../../base/leaving.ts";
import type { Route } from "../../dispatch/routes/route.ts";
import { spanShape } from "./span-octets.ts";
import { ATTRIBUTES, type SpanLink } from "./span-record.ts";

const known = new WeakMap<Route, TracedRoute>();

/** The traced parts of a route, built at its first request. */
export function tracedRoute(route: Route): TracedRoute {
  let traced = known.get(route);
  if (traced === undefined) {
    traced = new TracedRoute(route);
    known.set(route, traced);
  }
  return traced;
}

class TracedRoute {
  readonly #route: Pick<Route, "method" | "path" | "tier">;
  readonly #shapes = new Map<number, Uint8Array>();
  readonly handlerShape: Uint8Array;
  /**
   * True for a function named in an endpoint file, and for a composition, whose dispatched requests name their parent
   * themselves. Other handlers need an async context, which slows every promise of the process down.
   */
  readonly staysInside: boolean;

  constructor({ method, path, tier, definition }: Route) {
    this.#route = { method, path, tier };
    this.handlerShape = spanShape("handler", { [ATTRIBUTES.handler]: definition.handler.type });
    this.staysInside = staysInside(definition);
  }

  /** The shape of the route's request spans with this status. */
  requestShape(status: number): Uint8Array {
    const shape = this.#shapes.get(status);
    if (shape !== undefined) return shape;
    const { method, path, tier } = this.#route;
    const made = spanShape(`${method} ${path}`, {
      [ATTRIBUTES.method]: method,
      [ATTRIBUTES.path]: path,
      [ATTRIBUTES.tier]: tier,
      [ATTRIBUTES.status]: status,
    });
    this.#shapes.set(status, made);
    return made;
  }
}

function staysInside({ handler, file }: Route["definition"]): boolean {
  if (handler.type === "composition") return true;
  const isModules = handler.type === "registered_function" && !handler.function.includes(":");
  return isModules && file.endsWith(".toml");
}

/** The longest accepted `tracestate`; longer ones are dropped, since no server truncates them. */
const MAX_STATE = 512;
const SAMPLED = 1;
const RANDOM = 2;

/**
 * Reads the trace context from `traceparent` and `tracestate`; baggage is left out, since it belongs to the callers.
 * W3C Trace Context
 */
export function readParent(field: (name: string) => string | undefined): SpanLink | undefined {
  const traceparent = field("traceparent");
  if (traceparent === undefined) return undefined;
  const named = parseTraceParent(traceparent);
  if (named === null) return undefined;
  const { traceId, spanId, traceFlags } = named;
  const isSampled = (traceFlags & SAMPLED) !== 0;
  const isRandom = (traceFlags & RANDOM) !== 0;
  return { traceId, spanId, isSampled, isRandom, state: readState(field("tracestate")) };
}

const BLANKS = /^[ \t]+|[ \t]+$/g;
const MAX_STATE_MEMBERS = 32;
const STATE_MEMBER =
  /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/** Discards a list that has an invalid member or too many members.   W3C Trace Context §3.3.1 */
function readState(field: string | undefined): string | undefined {
  if (field === undefined || field.length > MAX_STATE) return undefined;
  const members = field.split(",").flatMap((member) => member.replace(BLANKS, "") || []);
  const isList =
    members.length <= MAX_STATE_MEMBERS && members.every((member) => STATE_MEMBER.test(member));
  return isList && members.length > 0 ? members.join(",") : undefined;
}

/** The header fields that refer to a span. */
export function fieldsOf(link: SpanLink): TraceFields {
  const { traceId, spanId, isSampled, isRandom, state } = link;
  const flags = (isSampled ? SAMPLED : 0) | (isRandom ? RANDOM : 0);
  const traceparent = `00-${traceId}-${spanId}-0${flags}`;
  return state === undefined ? { traceparent } : { traceparent, tracestate: state };
}
