/**
 * The reserved DISCOVER built-ins as protocol endpoints, in the order the directory lists them.
 * `policies.builtins` replaces a handler and nothing else.   AGTP-API §5.8, §5.9
 */

import { judge, type Outcome } from "../../dispatch/handling/judge.ts";
import type { FloorMethod } from "../../dispatch/routes/floor.ts";
import type { ProtocolEndpoint } from "../../dispatch/routes/protocol-endpoint.ts";
import type { RouteHandler } from "../../dispatch/routes/route.ts";
import { propertiesOf } from "../../endpoint/input-shape.ts";
import type { Handler, HandlerSuccess } from "../../handlers/handler.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { CompiledSchema, SchemaCompiler } from "../../schema/schema.ts";
import type { Builtin } from "./builtin.ts";
import type { Inventory } from "./inventory.ts";
import {
  agentsBuiltin,
  apisBuiltin,
  contractsBuiltin,
  genesisBuiltin,
  patternsBuiltin,
  toolsBuiltin,
} from "./inventory-builtins.ts";
import { withTarget } from "./legacy-target.ts";
import { methodsBuiltin } from "./methods.ts";
import { type RootOptions, rootHandler } from "./root.ts";

/** The parts that the built-ins are made of. */
export interface BuiltinOptions {
  readonly inventory: Inventory;
  readonly manifestFor: RootOptions["manifestFor"];
  /** Handlers of `policies.builtins`, by reserved name. */
  readonly overrides: ReadonlyMap<string, Handler>;
  readonly compiler: SchemaCompiler;
  /** DISCOVER "/" by criteria. */
  readonly criteria: FloorMethod | undefined;
}

/** The endpoints, and what they answer with. */
export interface BuiltinEndpoints {
  readonly endpoints: readonly ProtocolEndpoint[];
  /** Makes the long answers, so that nobody has to wait for them. */
  prepare(): Promise<void>;
}

/** DISCOVER "/" and every reserved path. */
export function builtinEndpoints(options: BuiltinOptions): BuiltinEndpoints {
  const { inventory, criteria, manifestFor } = options;
  const builtins = [
    methodsBuiltin(inventory),
    agentsBuiltin(inventory),
    genesisBuiltin(inventory),
    toolsBuiltin(inventory),
    apisBuiltin(inventory),
    patternsBuiltin(inventory),
    contractsBuiltin(inventory),
  ];
  const handlers = new Map(builtins.map((builtin) => [builtin.name, handlerOf(builtin, options)]));
  const root: ProtocolEndpoint = {
    ...DISCOVERY,
    path: "/",
    description:
      "Finds agents and endpoints by criteria; else the manifest, or to an agent the directory.",
    inputSchema: closed({ ...TARGET, ...propertiesOf(criteria?.inputSchema ?? {}) }),
    outputSchema: { type: "object" },
    handler: rootHandler({ handlers, manifestFor, candidates: criteria }),
  };
  return {
    endpoints: [root, ...builtins.map((builtin) => discoveryEndpoint(builtin, handlers))],
    prepare: async () => {
      const unasked = builtins.filter(({ name }) => !options.overrides.has(name));
      await Promise.all(unasked.map((builtin) => builtin.prepare?.()));
    },
  };
}

function handlerOf(
  { name, handler, outputSchema }: Builtin,
  { overrides, compiler }: BuiltinOptions,
): RouteHandler {
  const override = overrides.get(name);
  if (override === undefined) return handler;
  const place = { file: `DISCOVER /${name}`, key: "output_schema" };
  const { compiled, problems } = compiler.compile(outputSchema, place);
  if (compiled === undefined) throw new Error(problems.map(({ message }) => message).join("; "));
  return holdToContract(override, compiled);
}

const DISCOVERY = {
  method: "DISCOVER",
  capability: "discovery",
  impact: "informational",
  isReading: true,
  isListed: true,
} as const;

const TARGET = {
  target: { type: "string", description: "Deprecated: use the path instead." },
  context: { type: "object" },
};

function closed(properties: Readonly<Record<string, unknown>>): JsonSchema {
  return { type: "object", properties, additionalProperties: false };
}

function discoveryEndpoint(
  { name, description, inputProperties, outputSchema, handler }: Builtin,
  handlers: ReadonlyMap<string, RouteHandler>,
): ProtocolEndpoint {
  return {
    ...DISCOVERY,
    path: `/${name}`,
    description,
    inputSchema: closed({ ...TARGET, ...inputProperties }),
    outputSchema,
    handler: withTarget(name, handlers.get(name) ?? handler),
  };
}

/**
 * An operator's handler in the place of a built-in. It must preserve the documented response: it is
 * held to the output schema and kept from the protocol's header fields, and is a fault where it
 * does not. AGTP-API §5.9
 */
function holdToContract(handler: Handler, output: CompiledSchema): RouteHandler {
  const rules = { tier: "B", errors: new Set<string>(), output, concealment: undefined } as const;
  const check = (outcome: Outcome): HandlerSuccess => {
    const judged = judge(rules, outcome);
    if (typeof judged === "string") throw new Error(judged);
    const { status, body, headers, contentType } = judged;
    return { status, body, headers: { ...headers, "Content-Type": contentType } };
  };
  return (call) => {
    const outcome = handler(call);
    return outcome instanceof Promise ? outcome.then(check) : check(outcome);
  };
}
