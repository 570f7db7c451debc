/**
 * The schemas of a document as a graph of references: which are recursive, how large each is with
 * everything inlined, and how far each is from a schema that needs it. Results are cached, because
 * the operations of a document share one graph.
 */
import { isRecord } from "../base/json-value.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { mapSubschemas } from "../schema/local-reference.ts";

/** The maximum number of schemas that one may need. */
const MAX_NEEDED = 400;
/** The maximum recursion depth, for the sake of the stack; deeper schemas count as recursive. */
const MAX_CHAIN = 800;
const HUGE = 1e9;

export class SchemaGraph {
  readonly #definition: (reference: string) => JsonSchema;
  readonly #targets = new Map<string, readonly string[]>();
  readonly #ownSizes = new Map<string, number>();
  readonly #sizes = new Map<string, number>();
  readonly #components = new Components();

  constructor(definition: (reference: string) => JsonSchema) {
    this.#definition = definition;
  }

  /** The distance in references to each needed schema, up to a bound. */
  distancesFrom(root: JsonSchema): ReadonlyMap<string, number> {
    const distances = new Map<string, number>();
    let front = [...new Set(referencesIn(root))];
    for (let distance = 0; front.length > 0 && distances.size <= MAX_NEEDED; distance += 1) {
      for (const reference of front) distances.set(reference, distance);
      const next = new Set(front.flatMap((reference) => this.#targetsOf(reference)));
      front = [...next].filter((reference) => !distances.has(reference));
    }
    return distances;
  }

  /** The JSON length with every reference inlined; infinite for recursive schemas. */
  sizeOf(reference: string): number {
    if (this.#isRecursive(reference)) return Number.POSITIVE_INFINITY;
    const known = this.#sizes.get(reference);
    if (known !== undefined) return known;
    const inner = this.#targetsOf(reference).map((target) =>
      this.#isRecursive(target) ? 0 : this.sizeOf(target),
    );
    const size = inner.reduce((sum, part) => sum + part, this.ownSize(reference));
    this.#sizes.set(reference, Math.min(size, HUGE));
    return Math.min(size, HUGE);
  }

  /** The JSON length as written, with references. */
  ownSize(reference: string): number {
    const known = this.#ownSizes.get(reference);
    if (known !== undefined) return known;
    const { length } = JSON.stringify(this.#definition(reference));
    this.#ownSizes.set(reference, length);
    return length;
  }

  #targetsOf(reference: string): readonly string[] {
    const known = this.#targets.get(reference);
    if (known !== undefined) return known;
    const targets = referencesIn(this.#definition(reference));
    this.#targets.set(reference, targets);
    return targets;
  }

  #isRecursive(reference: string): boolean {
    return this.#components.isRecursive(reference, (node) => this.#targetsOf(node));
  }
}

/** The references in a schema, repeated ones included. */
export function referencesIn(schema: unknown): readonly string[] {
  const found: string[] = [];
  const collect = (one: JsonSchema): void => {
    for (const [keyword, value] of Object.entries(one)) {
      if (keyword === "$ref" && typeof value === "string") found.push(value);
      else mapSubschemas(keyword, value, collect);
    }
  };
  if (isRecord(schema)) collect(schema);
  return found;
}

type TargetsOf = (node: string) => readonly string[];

/** Tarjan's strongly connected components, computed on demand. */
class Components {
  readonly #order = new Map<string, number>();
  readonly #recursive = new Set<string>();
  readonly #stack: string[] = [];
  readonly #onStack = new Set<string>();

  isRecursive(node: string, targetsOf: TargetsOf): boolean {
    if (!this.#order.has(node)) this.#visit(node, targetsOf, 0);
    return this.#recursive.has(node);
  }

  /** Returns the lowest index that is reachable from the node. */
  #visit(node: string, targetsOf: TargetsOf, depth: number): number {
    const index = this.#order.size;
    this.#order.set(node, index);
    let lowest = index;
    this.#stack.push(node);
    this.#onStack.add(node);
    for (const target of targetsOf(node)) {
      if (target === node) this.#recursive.add(node);
      const order = this.#order.get(target);
      if (order !== undefined) {
        if (this.#onStack.has(target)) lowest = Math.min(lowest, order);
      } else if (depth >= MAX_CHAIN) this.#recursive.add(target);
      else lowest = Math.min(lowest, this.#visit(target, targetsOf, depth + 1));
    }
    if (lowest === index) this.#close(node);
    return lowest;
  }

  #close(node: string): void {
    const component = this.#stack.splice(this.#stack.lastIndexOf(node));
    for (const member of component) {
      this.#onStack.delete(member);
      if (component.length > 1) this.#recursive.add(member);
    }
  }
}
