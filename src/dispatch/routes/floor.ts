/**
 * The floor: the eighteen methods that every AGTP server answers on "/".   AGTP "Method Floor",
 * AGTP-API §3.1
 */
import type { JsonRecord } from "../../base/json-value.ts";
import type { Paced } from "../../base/paced.ts";
import { type Catalog, FLOOR_GROUPS, FLOOR_METHODS } from "../../catalog/catalog.ts";
import { RESERVED_NAMES } from "../../catalog/path-grammar.ts";
import { CAPABILITIES, type Capability, type Impact } from "../../endpoint/endpoint.ts";
import type { Call, HandlerSuccess } from "../../handlers/handler.ts";
import type { Status } from "../../wire/message.ts";
import type { MethodPolicy } from "../policy/method-policy.ts";
import type { ProtocolEndpoint } from "./protocol-endpoint.ts";
import type { Route } from "./route.ts";

/** Methods that change no state; the policy may open them to anonymous callers. */
const READING: ReadonlySet<string> = new Set([
  "QUERY",
  "DISCOVER",
  "DESCRIBE",
  "INSPECT",
  "SUMMARIZE",
  "PLAN",
]);

const IRREVERSIBLE: ReadonlySet<string> = new Set(["REVOKE", "NOTIFY", "EXECUTE", "DELEGATE"]);

export interface FloorMethod
  extends Pick<
    ProtocolEndpoint,
    | ("inputSchema" | "handler" | "takesCertificate" | "idempotencyMember")
    | ("deepMembers" | "endsInTime" | "leadsTo" | "looksUp")
  > {
  /** Tells whether a call is for this method, if its path also answers another. */
  isAsked?(input: JsonRecord): boolean;
}

/** Returns a method's description in the catalog, and its first capability. */
export type DescribeMethod = (method: string) => {
  readonly description: string;
  readonly capability: Capability;
};

/** Describes methods by a catalog. */
export function describeBy(catalog: Catalog): DescribeMethod {
  return (method) => {
    const verb = catalog.verbs.get(method);
    // A catalog may have categories that are no capabilities.
    const capability = CAPABILITIES.find((word) => word === verb?.categories[0]) ?? "mechanics";
    return { description: verb?.description ?? method, capability };
  };
}

/** Builds a protocol endpoint on "/" for each method. */
export function floorEndpoints(
  methods: ReadonlyMap<string, FloorMethod>,
  describe: DescribeMethod,
): readonly ProtocolEndpoint[] {
  return [...methods].map(([method, floorMethod]) => ({
    ...describe(method),
    ...{ method, path: "/", impact: impactOf(method) },
    ...{ isListed: false, ...floorMethod },
  }));
}

/** Returns the impact of a floor method. */
export function impactOf(method: string): Impact {
  if (READING.has(method)) return "informational";
  return IRREVERSIBLE.has(method) ? "irreversible" : "reversible";
}

/**
 * Lists this server's methods for the first response of a connection: the floor first, then those
 * of other endpoints, without disallowed ones. Contracts and aliases are not listed.   AGTP
 * "Response Headers"
 */
export function* listingMethods(
  routes: Iterable<Pick<Route, "method" | "path">>,
  policy: Pick<MethodPolicy, "isAllowed">,
): Paced<readonly string[]> {
  const registered = new Set<string>();
  const onRoot = new Set<string>();
  for (const { method, path } of routes) {
    registered.add(method);
    if (path === "/") onRoot.add(method);
    yield;
  }
  const floor = FLOOR_METHODS.filter((method) => onRoot.has(method));
  const methods = new Set<string>([...floor, ...[...registered].sort()]);
  return [...methods].filter((method) => policy.isAllowed(method));
}

/**
 * Wraps the result of a floor method: `{status, task_id?, result}`; the members of `beside` are
 * repeated beside it.   AGTP "Response Body"
 */
export function floorResult(
  call: Pick<Call, "taskId">,
  result: unknown,
  status: Status = 200,
  beside: JsonRecord = {},
): HandlerSuccess {
  const { taskId } = call;
  const task = taskId === undefined ? {} : { task_id: taskId };
  return { status, body: { status, ...task, ...beside, result } };
}

/** The maximum size of a NOTIFY's content as JSON; everything that fills an inbox keeps to it. */
export const MAX_NOTIFICATION_BYTES = 65_536;

/** The path of an agent, and the protocol's methods there. */
const AGENT_PATH = /^\/agents\/[^/]+(?:\/status)?$/;
const AGENT_METHODS: readonly string[] = ["DESCRIBE", "FETCH", "QUERY", ...FLOOR_GROUPS.lifecycle];

/** The methods of "/": the floor, and RESUME as the counterpart of SUSPEND. */
const ROOT_METHODS: readonly string[] = [...FLOOR_METHODS, "RESUME"];

/** Tells whether a pair belongs to the protocol: a method on "/", a built-in, or an agent's path. */
export function isProtocolPair(method: string, path: string): boolean {
  if (path === "/") return ROOT_METHODS.includes(method);
  if (AGENT_PATH.test(path)) return AGENT_METHODS.includes(method);
  return method === "DISCOVER" && RESERVED_NAMES.includes(path.slice(1));
}
