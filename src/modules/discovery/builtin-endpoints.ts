/**
 * The reserved DISCOVER built-ins as protocol endpoints, in the directory's order. `policies.builtins` replaces only
 * their handlers.   AGTP-API §5.8, §5.9
 */

import { shareBody } from "../../base/kept-text.ts";
import { Latest } from "../../base/latest.ts";
import { mapPaced } from "../../base/paced.ts";
import { recentlyUsed } from "../../base/recently-used.ts";
import { isDisclosedTo } from "../../dispatch/caller/disclosure.ts";
import { replyToOutcome } from "../../dispatch/handling/invoke.ts";
import { whileServing } from "../../dispatch/process-state.ts";
import { badRequest, type Refusal, violationAt } from "../../dispatch/refusals/refusal.ts";
import type { ProtocolEndpoint } from "../../dispatch/routes/protocol-endpoint.ts";
import type { ExchangeView, Outcome, RouteHandler } from "../../dispatch/routes/route.ts";
import type { ListedDefinition } from "../../dispatch/tools/tool.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import { propertiesOf } from "../../endpoint/input-shape.ts";
import type { Call, Handler, HandlerResult, HandlerSuccess } from "../../handlers/handler.ts";
import { MANIFEST_TYPE } from "../../identity/manifest-signature.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { type CompiledSchema, compileOwn } from "../../schema/schema.ts";
import type { DiscoveryContext } from "./config.ts";
import type { ManifestDocument } from "./document.ts";
import {
  arrayOf,
  type Builtin,
  type Listed,
  Listing,
  persistentEndpoints,
  sharing,
} from "./inventory.ts";
import {
  agentsBuiltin,
  apisBuiltin,
  contractsBuiltin,
  genesisBuiltin,
  patternsBuiltin,
  toolsBuiltin,
} from "./inventory-builtins.ts";
import type { CurrentManifest, PublishedManifest } from "./publish.ts";

interface BuiltinOptions {
  readonly context: DiscoveryContext;
  readonly manifest: CurrentManifest;
  /** Handlers of `policies.builtins`, by reserved name. */
  readonly overrides: ReadonlyMap<string, Handler>;
}

interface BuiltinEndpoints {
  readonly endpoints: readonly ProtocolEndpoint[];
  /** Builds the long answers ahead of the first request. */
  prepare(): Promise<void>;
}

/** DISCOVER "/" and every reserved path. */
export function builtinEndpoints(options: BuiltinOptions): BuiltinEndpoints {
  const { context, manifest } = options;
  const { criteria } = context;
  const builtins = [
    methodsBuiltin(context, manifest),
    agentsBuiltin(context),
    genesisBuiltin(context),
    toolsBuiltin(context),
    apisBuiltin(context),
    patternsBuiltin(context),
    contractsBuiltin(context),
  ];
  const handlers = new Map(builtins.map((builtin) => [builtin.name, handlerOf(builtin, options)]));
  const root: ProtocolEndpoint = {
    ...DISCOVERY,
    path: "/",
    description:
      "Finds agents and endpoints by criteria; else the manifest, or to an agent the directory.",
    inputSchema: closed({
      ...TARGET,
      ...Object.fromEntries(builtins.flatMap(ownProperties)),
      ...propertiesOf(criteria?.inputSchema ?? {}),
    }),
    outputSchema: { type: "object" },
    handler: rootHandler(options, builtins, handlers),
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
  { overrides }: BuiltinOptions,
): RouteHandler {
  const override = overrides.get(name);
  if (override === undefined) return handler;
  return holdToContract(override, compileOwn(outputSchema));
}

const DISCOVERY = {
  method: "DISCOVER",
  capability: "discovery",
  impact: "informational",
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
 * Wraps an operator's handler for a built-in: its answer must match the output schema and set no protocol header
 * fields; otherwise it is a fault. AGTP-API §5.9
 */
function holdToContract(handler: Handler, output: CompiledSchema): RouteHandler {
  const rules = { tier: "B", errors: new Set<string>(), output, concealment: undefined } as const;
  const check = (outcome: Outcome): HandlerSuccess => {
    const judged = replyToOutcome(rules, outcome);
    if (typeof judged === "string") throw new Error(judged);
    const { status, body, headers, contentType } = judged;
    return { status, body, headers: { ...headers, "Content-Type": contentType } };
  };
  return (call) => {
    const outcome = handler(call);
    return outcome instanceof Promise ? outcome.then(check) : check(outcome);
  };
}

/**
 * DISCOVER on "/": the manifest for a request without Agent-ID or with the manifest's media type in Accept, otherwise
 * the directory of built-ins; the built-in of a legacy `target`; or candidates, if the request has criteria.   AGTP
 * "DISCOVER", AGTP-API §5.8.3, §5.10, §8.10
 */
function rootHandler(
  { context, manifest }: BuiltinOptions,
  builtins: readonly Builtin[],
  handlers: ReadonlyMap<string, RouteHandler>,
): RouteHandler {
  const { criteria } = context;
  const manifestFor = variantsOf(context, manifest);
  const answerTarget = legacyTargetHandler(handlers);
  const refuseForeign = foreignMembers(builtins);
  const directory = [...handlers.keys()].map((name) => ({ path: `/${name}`, tier: "A" }));
  return (call, exchange) => {
    const { target } = call.input;
    const foreign = refuseForeign(call.input);
    if (foreign !== undefined) return foreign;
    if (target !== undefined) return answerTarget(call, exchange, target);
    if (criteria?.isAsked?.(call.input)) return criteria.handler(call, exchange);
    if (!wantsManifest(call)) return { body: { directory } };
    const shown = manifestFor(call.agentId);
    return shown instanceof Promise ? shown.then(answerOf) : answerOf(shown);
  };
}

function ownProperties({ inputProperties = {} }: Builtin): readonly [string, unknown][] {
  return Object.entries(inputProperties);
}

/** Refuses a parameter of one built-in unless `target` names that built-in.   AGTP-API §5.10 */
function foreignMembers(
  builtins: readonly Builtin[],
): (input: Call["input"]) => Refusal | undefined {
  const members = builtins.flatMap((builtin) =>
    ownProperties(builtin).map(([member]) => ({ name: builtin.name, member })),
  );
  return (input) => {
    const foreign = members.find(
      ({ name, member }) => input[member] !== undefined && input["target"] !== name,
    );
    if (foreign === undefined) return undefined;
    const message = `is taken by DISCOVER /${foreign.name} alone`;
    return violationAt(`/${foreign.member}`, "additionalProperties", message);
  };
}

/** The variant of the manifest that a caller may see. */
function variantsOf(context: DiscoveryContext, manifest: CurrentManifest) {
  return (agentId: string | undefined): ManifestDocument | Promise<ManifestDocument> => {
    const own = persistentEndpoints(context, manifest, agentId);
    const isWhole = isDisclosedTo(context, agentId);
    const pick = (published: PublishedManifest): ManifestDocument | Promise<ManifestDocument> => {
      if (own.length > 0) return published.extend(isWhole, own);
      return isWhole ? published.disclosed : published.withheld;
    };
    const published = manifest.get();
    return published instanceof Promise ? published.then(pick) : pick(published);
  };
}

function answerOf({ bytes, etag }: ManifestDocument): HandlerResult {
  return {
    body: shareBody(bytes),
    headers: {
      "Content-Type": MANIFEST_TYPE,
      ETag: etag,
      "Cache-Control": "private, max-age=300",
    },
  };
}

function wantsManifest(call: Call): boolean {
  if (call.agentId === undefined) return true;
  return (call.headers["accept"] ?? "").toLowerCase().includes(MANIFEST_TYPE);
}

/** Number of agents whose lists are cached; others' are built again. */
const REMEMBERED = 8;

/**
 * DISCOVER /methods: the compact inventory of registered endpoints, with the persistent contracts of the calling
 * agent. A bare array of `{method, path, description, tier}`.   AGTP-API §5.8, §10.8
 */
function methodsBuiltin(context: DiscoveryContext, manifest: CurrentManifest): Builtin {
  const drive = whileServing(context);
  const methods = new Listing(() => mapPaced(context.deployment().listed, methodEntry), context);
  const extended = recentlyUsed<Latest<Listed>>(REMEMBERED);
  /** Builds an agent's list once and shares its encoding, because the agent may request it often. */
  const extend = (all: Listed, own: Listed): Latest<Listed> => {
    const key = JSON.stringify(own);
    const made =
      extended.get(key) ??
      new Latest(async () => drive(sharing(mapPaced([...all, ...own], (one) => one))));
    extended.set(key, made);
    return made;
  };
  return {
    name: "methods",
    description: "Lists all registered endpoints on this server.",
    outputSchema: arrayOf(["method", "path", "description", "tier"]),
    prepare: () => methods.prepare(),
    handler: ({ agentId }) => {
      const own = persistentEndpoints(context, manifest, agentId);
      if (own.length === 0) return methods.answer();
      const entries = own.map((one) => entryOf(one, "C"));
      return methods.answer(async (all) => ({ body: await extend(all, entries).get() }));
    },
  };
}

function methodEntry({ tier, definition }: ListedDefinition): object {
  return entryOf(definition, tier);
}

function entryOf(
  { method, path, description }: EndpointDefinition,
  tier: ListedDefinition["tier"] | "C",
): object {
  return { method, path, description, tier };
}

/** The targets that the body form supports. */
const LEGACY_TARGETS: readonly string[] = ["methods", "agents", "genesis", "tools", "apis"];

const REMEMBERED_AGENTS = 10_000;

/** Refuses a `target` in the body that contradicts the path. */
function withTarget(name: string, handler: RouteHandler): RouteHandler {
  return (call, exchange) => {
    const { target } = call.input;
    return target === undefined || target === name
      ? handler(call, exchange)
      : conflict(`/${name}`, target);
  };
}

function conflict(path: string, target: unknown): Refusal {
  const message = `the path names ${path} and the body target "${String(target)}"`;
  return badRequest("discover-target-conflict", message, { conflict: { path, target } });
}

/**
 * Answers the deprecated body form `target=NAME` on the root path with the built-in of that name, with a warning at an
 * agent's first use.   AGTP-API §5.10
 */
function legacyTargetHandler(
  handlers: ReadonlyMap<string, RouteHandler>,
): (call: Call, exchange: ExchangeView, target: unknown) => ReturnType<RouteHandler> {
  const warned = recentlyUsed<true>(REMEMBERED_AGENTS);
  return (call, exchange, target) => {
    const isKnown = typeof target === "string" && LEGACY_TARGETS.includes(target);
    const handler = isKnown ? handlers.get(target) : undefined;
    if (handler === undefined) return unknownTarget();
    const answer = handler(call, exchange);
    const agent = call.agentId ?? "";
    if (warned.has(agent)) return answer;
    warned.set(agent, true);
    call.log.warn({ target }, "DISCOVER target= in the body is deprecated");
    const warning = `deprecated; successor=DISCOVER /${String(target)}`;
    return answer instanceof Promise
      ? answer.then((result) => withWarning(result, warning))
      : withWarning(answer, warning);
  };
}

function unknownTarget(): Refusal {
  return violationAt("/target", "enum", `must be one of ${LEGACY_TARGETS.join(", ")}`);
}

function withWarning(result: HandlerResult | Refusal, warning: string): HandlerResult | Refusal {
  if ("error" in result) return result;
  return { ...result, headers: { ...result.headers, "AGTP-Endpoint-Warning": warning } };
}
