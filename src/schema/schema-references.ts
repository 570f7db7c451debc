/**
 * Checks the references of a schema. Refuses references without a target, and recursion that checks
 * one value endlessly, or ever more often, without descending into it.
 */

import { escapeToken, joinKey } from "../base/dotted-key.ts";
import { quoteValue } from "../base/json-value.ts";
import { decodePart } from "../base/percent-encoding.ts";
import type { SchemaBounds } from "./schema-bounds.ts";

/** A schema inside a schema, by its JSON Pointer. */
export interface SchemaNode extends SchemaPlace {
  /** The pointers of its subschemas. */
  readonly children: string[];
  /** The subschemas that check the same value. */
  readonly inPlace: string[];
  /** Its `$ref`, as a list of at most one. */
  readonly references: string[];
}

/** The schemas inside a schema, with their anchors. */
interface SchemaGraph {
  readonly nodes: ReadonlyMap<string, SchemaNode>;
  readonly anchors: ReadonlyMap<string, string>;
}

type JudgementBounds = Pick<SchemaBounds, "maxJudgements" | "maxJudgementsInAll">;

const MAX_STEPS = 128;
/** The maximum depth, through references too: compilation recurses, and the stack ends at about 600. */
const MAX_LEVELS = 256;

/** Returns the faults of a schema's references. */
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

/** Returns the pointer of a local reference's target. */
function resolveReference(reference: string, { nodes, anchors }: SchemaGraph): string | undefined {
  const fragment = decodePart(reference.slice(1));
  if (fragment === undefined) return undefined;
  if (fragment === "" || fragment.startsWith("/"))
    return nodes.has(fragment) ? fragment : undefined;
  return anchors.get(fragment);
}

/**
 * Computes how many checks each schema causes for one value; a schema that is reached during its
 * own visit is a cycle.
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

/** Checks how deep a compiler that visits each schema once must recurse. */
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

/** A place in a schema; the empty pointer is the schema itself. */
export interface SchemaPlace {
  /** The dotted key, for messages about files. */
  readonly key: string;
  /** The JSON Pointer, for messages about bodies. */
  readonly pointer: string;
}

export interface SchemaFault extends SchemaPlace {
  readonly message: string;
  readonly hint?: string | undefined;
}

/** Returns the place of a member. */
export function below({ key, pointer }: SchemaPlace, name: string): SchemaPlace {
  return { key: joinKey(key, name), pointer: `${pointer}/${escapeToken(name)}` };
}
