/**
 * Watches the definitions of the tools that endpoints are bound to. A definition that differs from its pin is
 * escalated to the operators, with the differences; its endpoint answers `upstream_definition_changed` until they have
 * decided, or the tool is as it was.
 */
import { inSlices, type Paced } from "../../base/paced.ts";
import { Turns } from "../../base/turns.ts";
import type { CallLog } from "../../handlers/handler.ts";
import {
  type ChangedTool,
  changedToolOf,
  changeFingerprint,
} from "../../handlers/mcp/changed-tool.ts";
import type { McpServer, OfferedTools } from "../../handlers/mcp/mcp-server.ts";
import {
  definitionDifferences,
  type OfferedTool,
  type PinnedTool,
  type ToolPins,
} from "../../handlers/mcp/tool-pins.ts";
import { uuidv7 } from "../../identity/uuid.ts";
import { type Decision, type Escalation, isOpen } from "../../state/registers/escalation.ts";
import type { EscalationRegister } from "../../state/registers/escalation-register.ts";

/** The watched tools, and the register and log for their changes. */
interface DefinitionWatchOptions {
  readonly tools: readonly PinnedTool[];
  readonly pins: ToolPins;
  readonly escalations: Pick<EscalationRegister, "open" | "decide" | "list" | "find" | "now">;
  readonly log: Pick<CallLog, "warn">;
  onFault(error: unknown): void;
}

/** An open escalation about a tool. */
interface Asked extends Escalation {
  readonly changed: ChangedTool;
}

const DEADLINE_MS = 30 * 24 * 3_600_000;
const WITHDRAWN = "the tool is another one again";

export class DefinitionWatch {
  readonly #options: DefinitionWatchOptions;
  readonly #turns = new Turns();

  constructor(options: DefinitionWatchOptions) {
    this.#options = options;
  }

  /** Starts watching the tools that a server offers, and returns a function that stops it. */
  watch(server: McpServer): () => void {
    return server.watch((offered) => {
      const { onFault } = this.#options;
      void this.#turns.run(() => this.#compare(server.settings.name, offered)).catch(onFault);
    });
  }

  /** Returns the tool that an escalation is about; undefined if it is none of this deployment's. */
  changedToolOf(escalation: Escalation): ChangedTool | undefined {
    const changed = changedToolOf(escalation);
    if (changed === undefined) return undefined;
    const isOurs = this.#options.tools.some((tool) => isSameTool(tool, changed));
    return isOurs ? changed : undefined;
  }

  /** Pins the definitions that operators accepted but an earlier process did not pin. */
  async start(): Promise<void> {
    const accepted = this.#options.escalations
      .list()
      .filter(({ status, decision }) => status === "accepted" && decision !== undefined)
      .sort((one, other) => (one.decision?.at ?? 0) - (other.decision?.at ?? 0));
    for (const escalation of accepted) await this.settle(escalation);
  }

  /** Pins a definition that an operator accepted. */
  async settle(escalation: Escalation): Promise<void> {
    const changed = this.changedToolOf(escalation);
    const { status, decision } = escalation;
    if (changed === undefined || status !== "accepted" || decision === undefined) return;
    await this.#options.pins.accept(changed, changed.offered, decision.at);
  }

  async #compare(server: string, offered: OfferedTools): Promise<void> {
    const { pins, tools } = this.#options;
    const asked = await inSlices(this.#askingAbout(server));
    for (const tool of tools) {
      if (tool.server !== server) continue;
      const pin = pins.pinOf(tool);
      const now = offered.get(tool.tool);
      if (now?.pin === pin) await pins.remember(pin, now.definition);
      await this.#closeOthers(tool, now?.pin, asked);
      if (now === undefined) this.#warn(tool, "an MCP server has a tool no more");
      else if (now.pin !== pin) await this.#open(tool, pin, now);
    }
  }

  /** Finds the open escalations about a server's tools. */
  *#askingAbout(server: string): Paced<readonly Asked[]> {
    const asked: Asked[] = [];
    for (const escalation of this.#options.escalations.list()) {
      const changed = isOpen(escalation) ? changedToolOf(escalation) : undefined;
      if (changed?.server === server) asked.push({ ...escalation, changed });
      yield;
    }
    return asked;
  }

  /** Closes the escalations about definitions that are no longer offered. */
  async #closeOthers(
    tool: PinnedTool,
    offered: string | undefined,
    asked: readonly Asked[],
  ): Promise<void> {
    const { escalations, pins } = this.#options;
    for (const { escalationId, changed } of asked) {
      if (!isSameTool(tool, changed)) continue;
      if (changed.offered === offered && offered !== pins.pinOf(tool)) continue;
      await escalations.decide(escalationId, withdrawal(WITHDRAWN, escalations.now()));
    }
  }

  async #open(tool: PinnedTool, pin: string, offered: OfferedTool): Promise<void> {
    const { escalations, pins } = this.#options;
    const changed: ChangedTool = { ...tool, offered: offered.pin };
    const fingerprint = changeFingerprint(changed);
    const before = pins.definitionOf(pin);
    const opening = await escalations.open(
      {
        ...{ agentId: ownerOf(tool), priority: "normal", reason: "ambiguous_instruction" },
        deadlineAt: escalations.now() + DEADLINE_MS,
        fingerprint,
        context: {
          ...{ kind: "definition", server: tool.server, tool: tool.tool },
          ...{ file_pin: tool.definition, pinned: pin, offered: offered.pin },
          line: `definition = "${offered.pin}"`,
          ...(before === undefined
            ? { definition: offered.definition }
            : { differences: definitionDifferences(before, offered.definition) }),
        },
      },
      // A refused definition is not escalated again, by any process.
      { keptOutBy: isKept },
    );
    if (opening.kind === "opened") this.#warn(tool, "an MCP server has changed a tool");
    if (opening.kind === "full") this.#warn(tool, "there is no room to ask operators about a tool");
  }

  #warn({ server, tool }: PinnedTool, message: string): void {
    this.#options.log.warn({ mcp_server: server, mcp_tool: tool }, message);
  }
}

/** The decision that closes an escalation which no longer needs one. */
export function withdrawal(reason: string, at: number): Decision {
  return {
    ...{ attestationId: `att-${uuidv7()}`, at, authority: "operator" },
    ...{ status: "rejected", reason },
  };
}

/** No agent has this owner name, so that no agent sees the escalation. */
function ownerOf({ server }: PinnedTool): string {
  return `mcp:${server}`;
}

/** True for an open escalation, and for one that an operator has decided. */
function isKept(escalation: Escalation): boolean {
  const { decision } = escalation;
  if (isOpen(escalation)) return true;
  return decision !== undefined && decision.reason !== WITHDRAWN;
}

function isSameTool(one: PinnedTool, other: PinnedTool): boolean {
  const { server, tool, definition } = one;
  return server === other.server && tool === other.tool && definition === other.definition;
}
