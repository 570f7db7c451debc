/**
 * A list that is the same for everybody who may see it, and does not change while a deployment is
 * served: made and encoded in steps, before somebody asks for it where there is time.
 */

import { sharingList } from "../../base/kept-text.ts";
import { Latest } from "../../base/latest.ts";
import { type Drive, mapPaced, type Paced } from "../../base/paced.ts";
import type { HandlerResult } from "../../handlers/handler.ts";

/** The entries of a list. */
export type Listed = readonly object[];

/** Such a list. */
export class Listing {
  readonly #latest: Latest<Listed>;

  constructor(make: () => Paced<Listed>, drive: Drive) {
    this.#latest = new Latest(async () => drive(sharing(make())));
  }

  /** Makes it. */
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
  drive: Drive,
): HandlerResult | Promise<HandlerResult> {
  if (items.length <= FEW) return { body: items.map(entryOf) };
  const body = drive(sharing(mapPaced(items, entryOf)));
  return Promise.resolve(body).then((entries) => ({ body: entries }));
}

/** They take less than a millisecond. */
const FEW = 100;

/** Makes a list and encodes it for all who are answered with it, in steps. */
export function* sharing(making: Paced<Listed>): Paced<Listed> {
  return yield* sharingList(yield* making);
}
