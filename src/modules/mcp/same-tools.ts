/** Compares two lists of tools as their reader is shown them. */
import { hash } from "node:crypto";
import type { Paced } from "../../base/paced.ts";
import { toolText } from "./tool-description.ts";
import type { ListedTool } from "./toolbox.ts";

type List = readonly ListedTool[];

/** Compares lists; what was found of two of them is known as long as both are. */
export class SameTools {
  readonly #digests = new WeakMap<ListedTool, string>();
  readonly #found = new WeakMap<List, WeakMap<List, boolean>>();

  /** Compares two, a tool a step. */
  *compare(one: List, other: List): Paced<boolean> {
    if (one === other) return true;
    const found = this.#found.get(one) ?? new WeakMap<List, boolean>();
    this.#found.set(one, found);
    const known = found.get(other);
    if (known !== undefined) return known;
    const areSame = one.length === other.length && (yield* this.#compareEach(one, other));
    found.set(other, areSame);
    return areSame;
  }

  *#compareEach(one: List, other: List): Paced<boolean> {
    for (const [index, tool] of one.entries()) {
      const counterpart = other[index];
      if (tool === counterpart) continue;
      if (counterpart === undefined || tool.name !== counterpart.name) return false;
      yield;
      if (this.#digestOf(tool) !== this.#digestOf(counterpart)) return false;
    }
    return true;
  }

  #digestOf(tool: ListedTool): string {
    const known = this.#digests.get(tool);
    if (known !== undefined) return known;
    const { current, isOutputTold } = tool.description;
    const digest = hash("sha256", `${isOutputTold} ${toolText(current)}`);
    this.#digests.set(tool, digest);
    return digest;
  }
}
