/**
 * Passes HTTP requests to the pipeline: a request is sent as the sidecar's agent, lists in its query move to the body,
 * a client that disconnects aborts its call, and no answer is sent before its record is stored.   AGTP "HTTP Gateway",
 * AGTP-IDENTIFIERS "Attribution-Record"
 */

import type { JsonRecord } from "../../base/json-value.ts";
import { addUnder } from "../../base/listed.ts";
import { decodePart } from "../../base/percent-encoding.ts";
import { type Catalog, HTTP_VERBS } from "../../catalog/catalog.ts";
import type { Pair } from "../../catalog/pair.ts";
import { checkPath, type MethodNames } from "../../catalog/path-grammar.ts";
import type { Dispatcher } from "../../dispatch/dispatcher.ts";
import { Exchange } from "../../dispatch/exchange.ts";
import type { HttpPeer } from "../../dispatch/module/http-gateway.ts";
import type { MethodPolicy } from "../../dispatch/policy/method-policy.ts";
import { type Recording, recorded } from "../../dispatch/recorded.ts";
import type { Route } from "../../dispatch/routes/route.ts";
import type { EndpointRegistry } from "../../endpoint/endpoint-registry.ts";
import { coerceText } from "../../endpoint/input.ts";
import type { InputShape } from "../../endpoint/input-shape.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import { isReading, liftVerb, methodReader } from "../../openapi/http-form.ts";
import type { HeaderFields } from "../../wire/fields.ts";
import type { Request, Response, WireFault } from "../../wire/message.ts";
import { FURTHER_METHODS, type HttpTarget } from "./http-target.ts";

/** The dependencies of the entrance. */
export interface HttpEntranceParts {
  readonly dispatcher: Dispatcher;
  readonly verbs: VerbRoutes;
  readonly agent: AgentDocument;
  /** True if no operator named the agent, so that it stands for anyone who reaches the port. */
  readonly isAgentIssued: boolean;
  readonly ledger: Recording;
}

interface HttpRequest {
  readonly method: string;
  readonly target: HttpTarget;
  /** The header fields that pass into AGTP. */
  readonly headers: HeaderFields;
  readonly body: Uint8Array;
  readonly peer: HttpPeer;
  /** Calls back if the client disconnects before it is answered. */
  onLeave(listener: () => void): void;
}

/** Answers requests; if the record is not stored, `ask` gives 503 `outcome-unknown`, and `refuse` undefined. */
export interface HttpEntrance {
  ask(request: HttpRequest): Promise<Response>;
  refuse(fault: WireFault, peer: HttpPeer): Promise<Response | undefined>;
}

/** Creates the entrance. */
export function createHttpEntrance(parts: HttpEntranceParts): HttpEntrance {
  const { dispatcher, verbs, agent, isAgentIssued: isAnybody, ledger } = parts;
  return {
    async ask(request) {
      const { method: httpMethod, target } = request;
      const { method, path } = verbs.translate(httpMethod, target.path);
      const exchange = new Exchange(
        { method, path, ...contentOf(request, () => verbs.shapeOf({ method, path })) },
        { ...request.peer, speaksAs: agent.agentId, isAnybody },
        performance.now(),
      );
      if (method !== httpMethod) exchange.translatedFrom = httpMethod;
      request.onLeave(() => exchange.abort(new Error("the caller left")));
      const { response } = await recorded(ledger, await dispatcher.answer(exchange));
      return response;
    },
    async refuse(fault, peer) {
      const { response, isKept } = await recorded(ledger, dispatcher.answerFault(fault, peer));
      return isKept ? response : undefined;
    },
  };
}

type Content = Pick<Request, "query" | "headers" | "body">;

/** The query, fields and body to dispatch; lists in the query become the body if there is none. */
function contentOf(
  { target, headers, body }: HttpRequest,
  shapeOf: () => InputShape | undefined,
): Content {
  // HTML forms write a space as a plus, which AGTP takes literally.   WHATWG URL "urlencoded"
  const query = target.query?.replaceAll("+", "%20");
  const shape = query === undefined || body.length > 0 ? undefined : shapeOf();
  const split = query === undefined || shape === undefined ? undefined : splitQuery(query, shape);
  if (split === undefined) return { query, headers, body };
  return {
    query: split.rest,
    headers: new Map(headers).set("content-type", "application/json"),
    body: Buffer.from(JSON.stringify(split.lists)),
  };
}

interface SplitQuery {
  /** The other parameters, as written. */
  readonly rest: string;
  readonly lists: JsonRecord;
}

/**
 * Separates the fields that the endpoint declares as lists from a query, because HTTP clients repeat names and AGTP
 * does not. Undefined if there is no list, or if it cannot be decoded, which a gate reports.   AGTP-API §5.5
 */
export function splitQuery(query: string, shape: InputShape): SplitQuery | undefined {
  if (shape.lists.size === 0) return undefined;
  const lists = new Map<string, unknown[]>();
  const rest: string[] = [];
  for (const part of query.split("&")) {
    const equals = part.indexOf("=");
    const name = decodePart(equals === -1 ? part : part.slice(0, equals));
    const types = name === undefined ? undefined : shape.lists.get(name);
    if (name === undefined || types === undefined) {
      rest.push(part);
      continue;
    }
    const value = decodePart(equals === -1 ? "" : part.slice(equals + 1));
    if (value === undefined) return undefined;
    addUnder(lists, name, coerceText(value, types));
  }
  return lists.size === 0 ? undefined : { rest: rest.join("&"), lists: Object.fromEntries(lists) };
}

/** The methods that an HTTP client can send and a catalog can have. */
const SHARED_METHODS: readonly string[] = ["QUERY", ...FURTHER_METHODS];

interface VerbParts {
  readonly catalog: Catalog;
  /** Method names, which no path may have as a segment. */
  readonly names: MethodNames;
  /** `policies.methods.custom` */
  readonly customMethods: readonly string[];
  readonly methodPolicy: MethodPolicy;
  readonly registry: EndpointRegistry<Route>;
}

/** The translation between HTTP methods and AGTP pairs. */
export interface VerbRoutes {
  /** The pair that a request addresses; its method may still be an alias. */
  translate(httpMethod: string, path: string): Pair;
  /** Tells whether an endpoint is found whose declared impact is more than informational. */
  mayChange(httpMethod: string, path: string): boolean;
  /** The input shape of the addressed endpoint; undefined if there is none. */
  shapeOf(pair: Pair): InputShape | undefined;
  /** The HTTP methods that have an endpoint at a path, as for an Allow field. */
  allowed(path: string): readonly string[];
}

/**
 * Translates an HTTP method and path to a pair: the method whose name the path ends with, or else the HTTP method,
 * which a gate knows as an alias. Following or prefetching a link must not cancel anything, so reading methods reach
 * by such a path only endpoints that merely inform.   AGTP-API §5.1, §9.2
 */
export function createVerbRoutes(parts: VerbParts): VerbRoutes {
  const { catalog, names, customMethods, methodPolicy, registry } = parts;
  const methodOf = methodReader(catalog, "POST", new Set(customMethods));
  const find = (pair: Pair): Route | undefined => {
    const method = methodPolicy.alias(pair.method)?.method ?? pair.method;
    if (checkPath(pair.path, names) !== undefined || !methodPolicy.isAllowed(method)) {
      return undefined;
    }
    const target = methodPolicy.redirect(method, pair.path) ?? { method, path: pair.path };
    if (!methodPolicy.isAllowed(target.method)) return undefined;
    return registry.find(target.method, target.path)?.entry;
  };
  const translate = (httpMethod: string, path: string): Pair => {
    // The pipeline treats HEAD as GET; only the body is left out.
    const method = httpMethod === "HEAD" ? "GET" : httpMethod;
    const lifted = liftVerb(path, methodOf);
    if (lifted === undefined) return { method, path };
    if (!isReading(httpMethod)) return lifted;
    const informs = find(lifted)?.definition.semantic.impact === "informational";
    return informs ? lifted : { method, path };
  };
  return {
    translate,
    mayChange: (httpMethod, path) => {
      const found = find(translate(httpMethod, path));
      return found !== undefined && found.definition.semantic.impact !== "informational";
    },
    shapeOf: (pair) => find(pair)?.shape,
    allowed: (path) => {
      const found: readonly string[] = [
        ...HTTP_VERBS.filter((verb) => find(translate(verb, path)) !== undefined),
        // These would be lifted as POST is, so only endpoints under the method's own name count.
        ...SHARED_METHODS.filter((method) => find({ method, path }) !== undefined),
      ];
      if (found.length === 0) return [];
      return [...found, ...(found.includes("GET") ? ["HEAD"] : []), "OPTIONS"].sort();
    },
  };
}
