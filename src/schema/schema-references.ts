/**
 * Follows the references of a schema. Refused: a reference to nothing, and schemas that judge
 * one value for ever, or ever more often, because they refer to themselves or to each other without
 * going deeper into the value.
 */

import { escapeToken, joinKey } from "../base/dotted-key.ts";
import { quoteValue } from "../base/json-value.ts";
import { decodePart } from "../base/percent-encoding.ts";
import type { SchemaBounds } from "./schema-bounds.ts";

/** One schema inside a schema, by its JSON Pointer. */
export interface SchemaNode extends SchemaPlace {
  /** Pointers of its subschemas. */
  readonly children: string[];
  /** The children that judge the same value. */
  readonly inPlace: string[];
  /** Its `$ref`, if it has one. */
  readonly references: string[];
}

/** Every schema inside a schema, and the anchors that name some of them. */
interface SchemaGraph {
  readonly nodes: ReadonlyMap<string, SchemaNode>;
  readonly anchors: ReadonlyMap<string, string>;
}

type JudgementBounds = Pick<SchemaBounds, "maxJudgements" | "maxJudgementsInAll">;

const MAX_STEPS = 128;
/** Compiling goes down level by level, through references too, and the stack ends at about 600. */
const MAX_LEVELS = 256;

/** Everything that is wrong with the references of a schema. */
export function checkReferences(
  graph: SchemaGraph,
  bounds: JudgementBounds,
): readonly SchemaFault[] {
  const faults: SchemaFault[] = [];
  for (const { key, pointer, references } of graph.nodes.values()) {
    for (const reference of references) {
      if (resolveReference(reference, graph) !== undefined) continue;
      const message = `${quoteValue(reference)} leads to no schema in this schema`;
      faults.push({ key, pointer, message });
    }
  }
  if (faults.length > 0) return faults;
  const expansion = checkExpansion(graph, bounds);
  return expansion.length > 0 ? expansion : checkLevels(graph);
}

/** The pointer of the schema that a local reference names. */
function resolveReference(reference: string, { nodes, anchors }: SchemaGraph): string | undefined {
  const fragment = decodePart(reference.slice(1));
  if (fragment === undefined) return undefined;
  if (fragment === "" || fragment.startsWith("/"))
    return nodes.has(fragment) ? fragment : undefined;
  return anchors.get(fragment);
}

/**
 * The number of judgements that each schema costs for one value; a schema on its way in is a cycle.
 */
function checkExpansion(
  graph: SchemaGraph,
  { maxJudgements, maxJudgementsInAll }: JudgementBounds,
): readonly SchemaFault[] {
  const costs = new Map<string, number>();
  const onTheWay = new Set<string>();
  const costOf = (pointer: string): number => {
    const known = costs.get(pointer);
    if (known !== undefined) return known;
    if (onTheWay.has(pointer) || onTheWay.size >= MAX_STEPS) return Number.POSITIVE_INFINITY;
    onTheWay.add(pointer);
    const node = graph.nodes.get(pointer);
    const next = [
      ...(node?.inPlace ?? []),
      ...(node?.references ?? []).map((reference) => resolveReference(reference, graph) ?? ""),
    ];
    const cost = next.reduce((sum, step) => sum + costOf(step), 1);
    onTheWay.delete(pointer);
    costs.set(pointer, cost);
    return cost;
  };
  let total = 0;
  for (const [pointer, { key }] of graph.nodes) {
    const cost = costOf(pointer);
    total += cost;
    if (cost > maxJudgements) {
      const message = `judges one value without end, or more than ${maxJudgements} times`;
      return [{ key, pointer, message }];
    }
    if (total > maxJudgementsInAll) {
      const message = `takes more than ${maxJudgementsInAll} judgements in all, expected fewer branches`;
      return [{ key, pointer, message }];
    }
  }
  return [];
}

/** How far down a compiler has to go that visits each schema once. */
function checkLevels({ nodes, anchors }: SchemaGraph): readonly SchemaFault[] {
  const visited = new Set<string>();
  const isDeeper = (pointer: string, level: number): boolean => {
    if (level > MAX_LEVELS) return true;
    const node = nodes.get(pointer);
    if (node === undefined || visited.has(pointer)) return false;
    visited.add(pointer);
    const targets = node.references.map(
      (reference) => resolveReference(reference, { nodes, anchors }) ?? "",
    );
    return [...targets, ...node.children].some((next) => isDeeper(next, level + 1));
  };
  if (!isDeeper("", 0)) return [];
  const message = `is nested too deeply through its references, expected at most ${MAX_LEVELS} levels`;
  return [{ key: "", pointer: "", message }];
}

/** A place in a schema; "" is the schema itself. */
export interface SchemaPlace {
  /** Dotted key, as messages about files have it. */
  readonly key: string;
  /** JSON Pointer, as messages about bodies have it. */
  readonly pointer: string;
}

export interface SchemaFault extends SchemaPlace {
  readonly message: string;
  readonly hint?: string | undefined;
}

/** The place of a member. */
export function below({ key, pointer }: SchemaPlace, name: string): SchemaPlace {
  return { key: joinKey(key, name), pointer: `${pointer}/${escapeToken(name)}` };
}
