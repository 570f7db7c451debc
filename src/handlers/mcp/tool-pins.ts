/**
 * The definitions of tools that operators stand by: the pin of an endpoint's file, until an operator
 * accepted another one in its place. A file that names a third pin was written later, and counts.
 * A pinned definition is kept whole, so that a change can be shown word by word.
 */
import { Collection } from "../../state/collection.ts";
import { recordReader } from "../../state/records/stored-record.ts";
import type { Store } from "../../state/store.ts";
import type { ToolDefinition } from "./definition.ts";

/** The tool that an endpoint is bound to, as its file has it. */
export interface PinnedTool {
  readonly server: string;
  readonly tool: string;
  /** The file's pin. */
  readonly definition: string;
}

/** An operator's word for a changed definition. */
export interface AcceptedPin {
  readonly server: string;
  readonly tool: string;
  /** The pin of the file that it was accepted in the place of. */
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

  /** Opens what an earlier process kept. */
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

  /** The pin that a tool has to have now. */
  pinOf({ server, tool, definition }: PinnedTool): string {
    return this.#accepted.get(keyOf(server, tool, definition))?.to ?? definition;
  }

  /** The definition of a pin; undefined: this server never saw it. */
  definitionOf(pin: string): ToolDefinition | undefined {
    return this.#definitions.get(pin)?.definition;
  }

  /** Keeps what a pin stands for. */
  async remember(pin: string, definition: ToolDefinition): Promise<void> {
    if (this.#definitions.get(pin) !== undefined) return;
    await this.#definitions.add(pin, { pin, definition, at: Date.now() });
  }

  /** From now on the tool has to have another pin than its file says; the latest word counts. */
  async accept(
    { server, tool, definition }: PinnedTool,
    to: string,
    at: number = Date.now(),
  ): Promise<void> {
    const key = keyOf(server, tool, definition);
    if ((this.#accepted.get(key)?.at ?? 0) >= at) return;
    await this.#accepted.put(key, { server, tool, from: definition, to, at });
  }
}

function keyOf(server: string, tool: string, from: string): string {
  return JSON.stringify([server, tool, from]);
}
