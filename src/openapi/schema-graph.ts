/**
 * The schemas that a schema needs, through references: how far away each is, which of them contain
 * themselves, and how large each would be with everything written out.
 */
import type { JsonSchema } from "../contract/endpoint.ts";
import { isRecord } from "../json-value.ts";
import type { SchemaReader } from "./schema-reader.ts";

/** What is known of the schemas behind the references of one schema. */
export interface SchemaGraph {
  /** By reference, in the order in which they are met. */
  readonly distances: ReadonlyMap<string, number>;
  readonly recursive: ReadonlySet<string>;
  /** Characters of JSON with every reference written out; infinite for what contains itself. */
  sizeOf(reference: string): number;
}

/** Beyond this, nobody reads what a schema is made of. */
const MAX_SCHEMAS = 3000;
const HUGE = 1e9;

/** Follows all references of a schema. */
export function buildGraph(root: JsonSchema, reader: SchemaReader): SchemaGraph {
  const edges = new Map<string, readonly string[]>();
  const distances = new Map<string, number>();
  let front = [...new Set(referencesIn(root))];
  for (let distance = 0; front.length > 0; distance += 1) {
    for (const reference of front) distances.set(reference, distance);
    const next = front.flatMap((reference) => {
      const targets = referencesIn(reader.definition(reference));
      edges.set(reference, targets);
      return targets;
    });
    front = [...new Set(next)].filter((reference) => !distances.has(reference));
    if (distances.size > MAX_SCHEMAS) break;
  }
  const recursive = findRecursive(edges);
  const sizes = new Map<string, number>();
  const sizeOf = (reference: string): number => {
    if (recursive.has(reference)) return Number.POSITIVE_INFINITY;
    const known = sizes.get(reference);
    if (known !== undefined) return known;
    const own = JSON.stringify(reader.definition(reference)).length;
    const targets = edges.get(reference) ?? [];
    const inner = targets.map((target) => (recursive.has(target) ? 0 : sizeOf(target)));
    const size = Math.min(
      inner.reduce((sum, part) => sum + part, own),
      HUGE,
    );
    sizes.set(reference, size);
    return size;
  };
  return { distances, recursive, sizeOf };
}

/** Every reference in a schema, as often as it is there. */
export function referencesIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(referencesIn);
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([keyword, member]) => {
    if (DATA.has(keyword)) return [];
    if (keyword === "$ref" && typeof member === "string") return [member];
    if (!MAPS.has(keyword)) return referencesIn(member);
    return isRecord(member) ? Object.values(member).flatMap(referencesIn) : [];
  });
}

/** Keywords whose values are data. */
export const DATA: ReadonlySet<string> = new Set(["enum", "const", "default", "examples"]);
/** Keywords whose members have names of their own. */
export const MAPS: ReadonlySet<string> = new Set([
  ...["properties", "patternProperties", "dependentSchemas", "$defs"],
]);

/** Those that a way leads back to: Tarjan's strongly connected components. */
function findRecursive(edges: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const onStack = new Set<string>();
  const recursive = new Set<string>();
  const visit = (node: string): number => {
    const index = order.size;
    order.set(node, index);
    let lowest = index;
    stack.push(node);
    onStack.add(node);
    for (const target of edges.get(node) ?? []) {
      if (target === node) recursive.add(node);
      if (!order.has(target)) lowest = Math.min(lowest, visit(target));
      else if (onStack.has(target)) lowest = Math.min(lowest, order.get(target) ?? index);
    }
    low.set(node, lowest);
    if (lowest === index) {
      const component = stack.splice(stack.indexOf(node));
      for (const member of component) {
        onStack.delete(member);
        if (component.length > 1) recursive.add(member);
      }
    }
    return lowest;
  };
  for (const node of edges.keys()) if (!order.has(node)) visit(node);
  return recursive;
}
