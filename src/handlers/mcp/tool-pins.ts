/**
 * The tool definitions that operators approved: an endpoint file's pin, until an operator accepts
 * another one in its place. A file with a third pin is newer, so it counts. Pinned definitions are
 * stored whole, so that changes can be shown word by word.
 */
import { hash } from "node:crypto";
import { escapeToken } from "../../base/dotted-key.ts";
import { given, isRecord, type JsonRecord, memberOf, recordIn } from "../../base/json-value.ts";
import { isTooDeep } from "../../base/nesting.ts";
import { canonicalText, canonicalTextOf } from "../../identity/canonical-form.ts";
import { Collection } from "../../state/collection.ts";
import { recordReader } from "../../state/records/stored-record.ts";
import type { Store } from "../../state/store.ts";

/** The tool of an endpoint, as its file names it. */
export interface PinnedTool {
  readonly server: string;
  readonly tool: string;
  /** The pin in the file. */
  readonly definition: string;
}

/** An operator's acceptance of a changed definition. */
interface AcceptedPin {
  readonly server: string;
  readonly tool: string;
  /** The file's pin that it replaces. */
  readonly from: string;
  readonly to: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

interface KnownDefinition {
  readonly pin: string;
  readonly definition: ToolDefinition;
  readonly at: number;
}

const MOST = 8_192;
const MOST_CHARACTERS = 67_108_864;

export class ToolPins {
  readonly #accepted: Collection<AcceptedPin>;
  readonly #definitions: Collection<KnownDefinition>;

  private constructor(accepted: Collection<AcceptedPin>, definitions: Collection<KnownDefinition>) {
    this.#accepted = accepted;
    this.#definitions = definitions;
  }

  /** Opens the stored pins. */
  static async open(store: Store): Promise<ToolPins> {
    const accepted = await Collection.open<AcceptedPin>(store, {
      name: "mcp-pins",
      read: recordReader<AcceptedPin>({
        ...{ server: "string", tool: "string", from: "string", to: "string", at: "number" },
      }),
      orderOf: ({ at }) => at,
      quota: { all: MOST },
    });
    const definitions = await Collection.open<KnownDefinition>(store, {
      name: "mcp-definitions",
      read: recordReader<KnownDefinition>({ pin: "string", definition: "object", at: "number" }),
      orderOf: ({ at }) => at,
      quota: { all: MOST, characters: MOST_CHARACTERS },
    });
    return new ToolPins(accepted, definitions);
  }

  pinOf({ server, tool, definition }: PinnedTool): string {
    return this.#accepted.get(keyOf(server, tool, definition))?.to ?? definition;
  }

  /** The definition of a pin; undefined if this server never saw it. */
  definitionOf(pin: string): ToolDefinition | undefined {
    return this.#definitions.get(pin)?.definition;
  }

  /** Stores the definition of a pin. */
  async remember(pin: string, definition: ToolDefinition): Promise<void> {
    if (this.#definitions.get(pin) !== undefined) return;
    await this.#definitions.add(pin, { pin, definition, at: Date.now() });
  }

  /** Replaces the file's pin of a tool with another one; the latest acceptance counts. */
  async accept(
    { server, tool, definition }: PinnedTool,
    to: string,
    at: number = Date.now(),
  ): Promise<void> {
    const key = keyOf(server, tool, definition);
    const accepted = { server, tool, from: definition, to, at };
    const adding = await this.#accepted.add(key, accepted);
    if (adding.kind !== "taken") return;
    await this.#accepted.change(key, (one) => (one.at >= at ? undefined : accepted));
  }
}

function keyOf(server: string, tool: string, from: string): string {
  return JSON.stringify([server, tool, from]);
}

/** A tool's definition, with MCP's own keys. */
export interface ToolDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonRecord;
  readonly outputSchema?: JsonRecord;
  readonly annotations?: JsonRecord;
}

/** One difference between two definitions; a side is undefined if the member is absent. */
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

export interface OfferedTool {
  readonly definition: ToolDefinition;
  readonly pin: string;
  /** The length of the canonical form. */
  readonly characters: number;
  /** True if it can only be called as a task, which this server does not do.   MCP 2025-11-25 "Tasks" */
  readonly isTask: boolean;
}

/** Reads the pinned members of a listed tool; undefined if it is not a valid one. */
export function readTool(listed: unknown): OfferedTool | undefined {
  if (!isRecord(listed) || isTooDeep(listed, MAX_DEPTH)) return undefined;
  const { name, title, description, inputSchema, outputSchema, annotations } = listed;
  const isNamed = typeof name === "string" && name !== "" && name.length <= MAX_NAME;
  if (!isNamed || !isRecord(inputSchema)) return undefined;
  if (!isTextOrAbsent(title) || !isTextOrAbsent(description)) return undefined;
  if (!isRecordOrAbsent(outputSchema) || !isRecordOrAbsent(annotations)) return undefined;
  const others = given({ title, description, outputSchema, annotations });
  const definition = { name, inputSchema, ...others };
  // Why first: the canonical form has about this length, and takes some twenty times as long to write.
  if (JSON.stringify(definition).length > MAX_DEFINITION_CHARACTERS) return undefined;
  // A definition without a canonical form cannot be pinned.
  const text = canonicalTextOf(definition);
  if (text === undefined || text.length > MAX_DEFINITION_CHARACTERS) return undefined;
  const isTask = recordIn(listed["execution"])["taskSupport"] === "required";
  return { definition, pin: pinOfText(text), characters: text.length, isTask };
}

/**
 * The digest of a tool's definition, that is of everything a model or a caller relies on. A
 * definition with another digest is another tool, even under the same name.
 */
export function definitionPin(definition: ToolDefinition): string {
  return pinOfText(canonicalText(definition));
}

function pinOfText(canonical: string): string {
  return `sha256:${hash("sha256", canonical)}`;
}

/** The differences between two definitions, in the order of the pinned members. */
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
  if (differences.length >= MAX_DIFFERENCES) return;
  // Why member by member: comparing whole records would repeat the work at each level.
  if (isRecord(before) && isRecord(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      compare(
        `${path}/${escapeToken(key)}`,
        memberOf(before, key),
        memberOf(after, key),
        differences,
      );
    }
    return;
  }
  if (!isSame(before, after)) differences.push({ path, ...given({ before, after }) });
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
