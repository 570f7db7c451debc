/**
 * The definition of a tool: everything a server says about it that a model or a caller goes by. Its
 * digest is the pin; a definition with another digest is another tool, whatever its name.
 */
import { isDeeperThan, isRecord, type JsonRecord, memberOf } from "../../base/json-value.ts";
import { canonicalText, sha256Hex } from "../../identity/canonical-form.ts";

/** A definition; keys are MCP's own. */
export interface ToolDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonRecord;
  readonly outputSchema?: JsonRecord;
  readonly annotations?: JsonRecord;
}

/** One place in which two definitions differ; undefined: it is not there. */
export interface DefinitionDifference {
  /** A JSON Pointer into the definition. */
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

const PINNED = [
  "name",
  "title",
  "description",
  "inputSchema",
  "outputSchema",
  "annotations",
] as const;
const MAX_NAME = 256;
const MAX_DEPTH = 64;
const MAX_DEFINITION_CHARACTERS = 262_144;
const MAX_DIFFERENCES = 100;

/** The pinned members of what a server lists; undefined: it is no tool. */
export function readDefinition(listed: unknown): ToolDefinition | undefined {
  if (!isRecord(listed) || isDeeperThan(listed, MAX_DEPTH)) return undefined;
  const { name, title, description, inputSchema, outputSchema, annotations } = listed;
  const isNamed = typeof name === "string" && name !== "" && name.length <= MAX_NAME;
  if (!isNamed || !isRecord(inputSchema)) return undefined;
  if (!isTextOrAbsent(title) || !isTextOrAbsent(description)) return undefined;
  if (!isRecordOrAbsent(outputSchema) || !isRecordOrAbsent(annotations)) return undefined;
  const definition = {
    ...{ name, inputSchema },
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(outputSchema === undefined ? {} : { outputSchema }),
    ...(annotations === undefined ? {} : { annotations }),
  };
  return JSON.stringify(definition).length > MAX_DEFINITION_CHARACTERS ? undefined : definition;
}

/** The pin of a definition: `sha256:` over its canonical form. Throws for what JCS rejects. */
export function definitionPin(definition: ToolDefinition): string {
  return `sha256:${sha256Hex(canonicalText(definition))}`;
}

/** The places in which a definition has become another one, in the order of the pinned members. */
export function definitionDifferences(
  before: ToolDefinition,
  after: ToolDefinition,
): readonly DefinitionDifference[] {
  const differences: DefinitionDifference[] = [];
  for (const name of PINNED) compare(`/${name}`, before[name], after[name], differences);
  return differences;
}

function compare(
  path: string,
  before: unknown,
  after: unknown,
  differences: DefinitionDifference[],
): void {
  if (differences.length >= MAX_DIFFERENCES || isSame(before, after)) return;
  if (isRecord(before) && isRecord(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const pointer = key.replaceAll("~", "~0").replaceAll("/", "~1");
      compare(`${path}/${pointer}`, memberOf(before, key), memberOf(after, key), differences);
    }
    return;
  }
  differences.push({
    path,
    ...(before === undefined ? {} : { before }),
    ...(after === undefined ? {} : { after }),
  });
}

function isSame(one: unknown, other: unknown): boolean {
  if (one === undefined || other === undefined) return one === other;
  return canonicalText(one) === canonicalText(other);
}

function isTextOrAbsent(value: unknown): value is string | undefined {
  return value === undefined || typeof value === "string";
}

function isRecordOrAbsent(value: unknown): value is JsonRecord | undefined {
  return value === undefined || isRecord(value);
}
