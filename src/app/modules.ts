/**
 * The capabilities of the daemon beside its pipeline, one line a module. Each is provisioned with what
 * those before it have brought; without its line the daemon serves the rest.
 * They are loaded one after the other: all at once would take more descriptors than a process may have.
 */
import type { AnyModule } from "./provision.ts";

export const MODULES: readonly AnyModule[] = [
  (await import("../modules/gateway/module.ts")).gatewayModule, // HTTP
  (await import("../modules/openwop/module.ts")).openwopModule, // OpenWOP agents and workflows
  (await import("../modules/agentcli/module.ts")).agentcliModule, // agentcli tasks
  (await import("../modules/agntcy/module.ts")).agntcyModule, // AGNTCY agents
  (await import("../modules/mcp/module.ts")).mcpModule, // MCP clients
  (await import("../modules/mcp-servers/module.ts")).mcpServersModule, // MCP servers behind endpoints
  (await import("../modules/tasks/module.ts")).tasksModule, // ESCALATE, CONFIRM, SUSPEND, RESUME
  (await import("../modules/delivery/module.ts")).deliveryModule, // NOTIFY
  (await import("../modules/delegation/module.ts")).delegationModule, // EXECUTE, DELEGATE
  (await import("../modules/negotiation/module.ts")).negotiationModule, // PROPOSE, PLAN, contracts
  (await import("../modules/search/module.ts")).searchModule, // QUERY, SUMMARIZE, DISCOVER by criteria
  (await import("../modules/floor/module.ts")).floorModule, // INSPECT, the lifecycle of agents
  (await import("../modules/tracing/module.ts")).tracingModule, // traces
  (await import("../modules/console/module.ts")).consoleModule, // the pages of operators
  (await import("../modules/discovery/module.ts")).discoveryModule, // DESCRIBE, DISCOVER, the manifest
];
