/** Exchanges and routes for tests of one gate, without a deployment. */

import { Exchange } from "../../src/dispatch/exchange.ts";
import { createRoute, type Route, type RouteHandler } from "../../src/dispatch/routes/route.ts";
import type { Handler } from "../../src/handlers/handler.ts";
import type { JsonSchema } from "../../src/schema/json-schema.ts";
import { createSchemaCompiler } from "../../src/schema/schema.ts";
import { makeEndpoint } from "./endpoint-definition.ts";

/** What a test says of its request. */
export interface ExchangeOptions {
  readonly method?: string;
  readonly path?: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | object;
  readonly startedAt?: number;
}

const PEER = { address: "127.0.0.1", port: 4480 };

/** A request as the parser hands it over; header names are lower-case there. */
export function makeExchange(options: ExchangeOptions = {}): Exchange {
  const { method = "BOOK", path = "/room", query, headers = {}, body = "" } = options;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const request = {
    method,
    path,
    query,
    headers: new Map(Object.entries(headers)),
    body: Buffer.from(text),
  };
  return new Exchange(request, PEER, options.startedAt ?? performance.now());
}

/** What a test says of its route, whose members are those of `properties` and no others. */
export interface RouteOptions extends Partial<Omit<Route, "handler" | "definition">> {
  readonly handler?: RouteHandler | Handler;
  readonly properties?: Readonly<Record<string, object>>;
  /** In the place of the properties. */
  readonly inputSchema?: JsonSchema;
  readonly outputSchema?: object;
  readonly requiredScopes?: readonly string[];
}

/** A tier B route over `BOOK /room`. */
export function makeRoute(options: RouteOptions = {}): Route {
  const {
    properties = {},
    outputSchema = {},
    requiredScopes = [],
    inputSchema: given,
    ...rest
  } = options;
  const inputSchema = given ?? { type: "object", properties, additionalProperties: false };
  const definition = makeEndpoint(
    { type: "registered_function", function: "handlers.book" },
    { inputSchema, outputSchema: { ...outputSchema }, requiredScopes },
  );
  const compiler = createSchemaCompiler();
  const place = { file: "endpoints/x.toml", key: "" };
  const input = compiler.compile(inputSchema, place).compiled;
  const output = compiler.compile({ ...outputSchema }, place).compiled;
  if (input === undefined || output === undefined) throw new Error("the schemas do not compile");
  const route = createRoute(definition, () => ({ body: {} }), { tier: "B", input, output });
  return { ...route, ...rest };
}
