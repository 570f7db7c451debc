/** The parts of the DISCOVER built-ins: their description, and cached listings.   AGTP-API §5.8 */

import { sharingBody } from "../../base/kept-text.ts";
import { Latest } from "../../base/latest.ts";
import { mapPaced, type Paced } from "../../base/paced.ts";
import { whileServing } from "../../dispatch/process-state.ts";
import type { RouteHandler } from "../../dispatch/routes/route.ts";
import { contractDefinition } from "../../endpoint/contract.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import type { HandlerResult } from "../../handlers/handler.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { DiscoveryContext } from "./config.ts";
import type { CurrentManifest } from "./publish.ts";

/** One reserved path of DISCOVER. */
export interface Builtin {
  /** The reserved name; the path is `/name`. */
  readonly name: string;
  readonly description: string;
  /** Parameters of this built-in alone. */
  readonly inputProperties?: Readonly<Record<string, unknown>>;
  readonly outputSchema: JsonSchema;
  readonly handler: RouteHandler;
  /** Builds a long answer ahead of the first request. */
  prepare?(): Promise<void>;
}

/** The schema of a bare array of objects with required members. */
export function arrayOf(required: readonly string[]): JsonSchema {
  return { type: "array", items: { type: "object", required } };
}

/** Most characters of JSON for an agent's persistent contracts; DISCOVER /contracts has the others. */
const MOST_CHARACTERS = 256 * 1024;

/** An agent's persistent contracts: for each pair the newest contract, if no endpoint is registered there. */
export function persistentEndpoints(
  { deployment }: DiscoveryContext,
  manifest: Pick<CurrentManifest, "isListed">,
  agentId: string | undefined,
): readonly EndpointDefinition[] {
  if (agentId === undefined) return [];
  const active = deployment().contracts.active(agentId);
  if (!active.some(({ isPersistent }) => isPersistent)) return [];
  const taken = new Set<string>();
  const persistent: EndpointDefinition[] = [];
  let characters = 0;
  for (const { endpoint, isPersistent } of active) {
    const { method, path } = endpoint;
    const pair = `${method} ${path}`;
    if (taken.has(pair) || manifest.isListed(method, path)) continue;
    taken.add(pair);
    if (!isPersistent) continue;
    characters += JSON.stringify(endpoint).length;
    if (characters > MOST_CHARACTERS) break;
    persistent.push(contractDefinition(endpoint));
  }
  return persistent;
}

export type Listed = readonly object[];

export class Listing {
  readonly #latest: Latest<Listed>;

  /** Builds the listing in steps that yield to other work, because it may be long. */
  constructor(make: () => Paced<Listed>, context: DiscoveryContext) {
    this.#latest = new Latest(async () => whileServing(context)(sharing(make())));
  }

  /** Builds the listing ahead of the first request. */
  async prepare(): Promise<void> {
    await this.#latest.get();
  }

  /** Answers with the listing, or with `answerOf` of it. */
  answer(
    answerOf: (entries: Listed) => HandlerResult | Promise<HandlerResult> = (body) => ({ body }),
  ): HandlerResult | Promise<HandlerResult> {
    const entries = this.#latest.get();
    return entries instanceof Promise ? entries.then(answerOf) : answerOf(entries);
  }
}

/** Answers with entries for one request only, encoded in steps if there are many. */
export function answerWith<T>(
  items: readonly T[],
  entryOf: (item: T) => object,
  context: DiscoveryContext,
): HandlerResult | Promise<HandlerResult> {
  if (items.length <= FEW) return { body: items.map(entryOf) };
  const body = whileServing(context)(sharing(mapPaced(items, entryOf)));
  return Promise.resolve(body).then((entries) => ({ body: entries }));
}

/** Number of entries encoded at once, in under a millisecond. */
const FEW = 100;

/** Builds a list in steps, and encodes it once for every answer. */
export function* sharing(making: Paced<Listed>): Paced<Listed> {
  return yield* sharingBody(yield* making);
}
