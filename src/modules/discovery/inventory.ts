/** The inventory of the reserved DISCOVER built-ins, decided at start-up.   AGTP-API §5.8 */

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
  /** Makes what the handler answers with, where that takes long. */
  prepare?(): Promise<void>;
}

/** Schema of a bare array of objects with some required members. */
export function arrayOf(required: readonly string[]): JsonSchema {
  return { type: "array", items: { type: "object", required } };
}

/** Of JSON; what an agent negotiates beyond it is in DISCOVER /contracts alone. */
const MOST_CHARACTERS = 256 * 1024;

/** Each pair once, as it is answered now: the newest contract, where nothing is registered. */
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

  /** It may be long: it is made in steps, with everybody else's turn in between. */
  constructor(make: () => Paced<Listed>, context: DiscoveryContext) {
    this.#latest = new Latest(async () => whileServing(context)(sharing(make())));
  }

  /** Makes the inventory, so that nobody waits for it. */
  async prepare(): Promise<void> {
    await this.#latest.get();
  }

  /** Answers with it, or with what is made of it. */
  answer(
    answerOf: (entries: Listed) => HandlerResult | Promise<HandlerResult> = (body) => ({ body }),
  ): HandlerResult | Promise<HandlerResult> {
    const entries = this.#latest.get();
    return entries instanceof Promise ? entries.then(answerOf) : answerOf(entries);
  }
}

/** Entries that belong to one answer alone, encoded in steps where there are many. */
export function answerWith<T>(
  items: readonly T[],
  entryOf: (item: T) => object,
  context: DiscoveryContext,
): HandlerResult | Promise<HandlerResult> {
  if (items.length <= FEW) return { body: items.map(entryOf) };
  const body = whileServing(context)(sharing(mapPaced(items, entryOf)));
  return Promise.resolve(body).then((entries) => ({ body: entries }));
}

/** They take less than a millisecond. */
const FEW = 100;

/** Makes a list and encodes it for all who are answered with it, in steps. */
export function* sharing(making: Paced<Listed>): Paced<Listed> {
  return yield* sharingBody(yield* making);
}
