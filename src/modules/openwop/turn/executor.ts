/**
 * Decides if an agent may take a turn: it must be installed for the run's tenant, be neither
 * suspended nor retired, and take the task. Everything after that is the turn's own.
 * OpenWOP RFC 0002, RFC 0070
 */
import { within } from "../../../base/deadline.ts";
import type { AgentDocument } from "../../../identity/agent-document.ts";
import { commonScopes } from "../../../identity/authority-scope.ts";
import type { AgentExecutor, AgentTurn } from "../agent-executor.ts";
import type { AgentRegistry } from "../agent-registry.ts";
import type { InstalledAgent } from "../installed-agent.ts";
import { failedTurn, schemaFailure } from "./outcome.ts";
import { RunningTurn, type TurnSurroundings } from "./running-turn.ts";

interface ExecutorOptions extends Omit<TurnSurroundings, "isInstalled"> {
  readonly registry: AgentRegistry;
  /** Scopes granted to an agent's tool calls. */
  grantsOf(agentId: string): readonly string[];
  /** Undefined: it has no identity here. */
  documentOf(agent: InstalledAgent): AgentDocument | undefined;
  /** Why an agent may not act, in words. */
  findInactive(document: AgentDocument): string | undefined;
}

/** The executor. */
export function createExecutor(options: ExecutorOptions): AgentExecutor {
  const { registry, redactor } = options;
  return {
    find: (agentId, tenant) => {
      const agent = registry.find(agentId, tenant);
      return agent && { agentId: agent.agentId, label: redactor.text(agent.label) };
    },
    takeTurn: async (turn) => {
      const agent = registry.find(turn.agentId, turn.owner.tenant);
      if (agent === undefined) return failedTurn("agent_not_found", "there is no such agent");
      const document = options.documentOf(agent);
      const inactive = document && options.findInactive(document);
      if (inactive !== undefined) return failedTurn("agent_unavailable", inactive);
      const isChecked = turn.validatesHandoff !== false;
      const violations = isChecked ? agent.taskSchema?.check(turn.task) : undefined;
      if (violations !== undefined) {
        return schemaFailure("handoff_task_schema_violation", violations, redactor);
      }
      const { tenant } = turn.owner;
      const surroundings: TurnSurroundings = {
        ...options,
        isInstalled: (agentId) => registry.find(agentId, tenant) !== undefined,
      };
      const scopes = scopesOf(options.grantsOf(agent.agentId), document, turn);
      const taker = { agent, document, scopes, turn };
      const ends = { signals: [turn.signal], timeoutMs: options.turnTimeoutMs };
      return within(ends, (signal) => new RunningTurn(surroundings, taker, signal).take());
    },
  };
}

/** The scopes that the operator granted, the agent's document holds, and the run's owner has. */
function scopesOf(
  granted: readonly string[],
  document: AgentDocument | undefined,
  { owner }: AgentTurn,
): readonly string[] {
  return commonScopes(granted, commonScopes(document?.scopes ?? [], owner.scopes));
}
