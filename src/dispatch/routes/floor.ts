/**
 * The floor: the eighteen methods every AGTP server answers on the path "/".
 * AGTP "Method Floor", AGTP-API §3.1
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

/** Methods that change no state, and are open to anonymous callers by policy. */
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
  /** Tells whether a call is this method's, where its path answers something else as well. */
  isAsked?(input: JsonRecord): boolean;
}

/** The catalog's sentence about a method, and its first capability. */
export type DescribeMethod = (method: string) => {
  readonly description: string;
  readonly capability: Capability;
};

/** Describes methods as a catalog does. */
export function describeBy(catalog: Catalog): DescribeMethod {
  return (method) => {
    const verb = catalog.verbs.get(method);
    // A catalog may have categories that are no capability.
    const capability = CAPABILITIES.find((word) => word === verb?.categories[0]) ?? "mechanics";
    return { description: verb?.description ?? method, capability };
  };
}

/** One protocol endpoint a method, on "/". */
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

/** The impact of calling a floor method. */
export function impactOf(method: string): Impact {
  if (READING.has(method)) return "informational";
  return IRREVERSIBLE.has(method) ? "irreversible" : "reversible";
}

/**
 * Lists the methods that this server answers, as the first response of a connection says it: those of the
 * floor first, then what other endpoints add, without what the policy refuses. Of contracts and aliases
 * nothing is said.   AGTP "Response Headers"
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
 * Wraps what a floor method found out or did: `{status, task_id?, result}`; `beside` is said again beside the
 * result.   AGTP "Response Body"
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

/** The most octets of a NOTIFY's content, as JSON: what brings news to an inbox keeps within them. */
export const MAX_NOTIFICATION_BYTES = 65_536;

/** An agent's own path, and the methods that the protocol has there. */
const AGENT_PATH = /^\/agents\/[^/]+(?:\/status)?$/;
const AGENT_METHODS: readonly string[] = ["DESCRIBE", "FETCH", "QUERY", ...FLOOR_GROUPS.lifecycle];

/** The methods of "/": the floor, and RESUME as the other half of SUSPEND. */
const ROOT_METHODS: readonly string[] = [...FLOOR_METHODS, "RESUME"];

/** Tells whether a pair is the protocol's own: a method on "/", a built-in, or an agent's path. */
export function isProtocolPair(method: string, path: string): boolean {
  if (path === "/") return ROOT_METHODS.includes(method);
  if (AGENT_PATH.test(path)) return AGENT_METHODS.includes(method);
  return method === "DISCOVER" && RESERVED_NAMES.includes(path.slice(1));
}
