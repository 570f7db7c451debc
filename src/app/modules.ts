/**
 * The capabilities of the daemon outside its pipeline, one module a line. Each is provisioned with
 * the contributions of those before it; without a module's line the daemon serves the rest.
 */
import { agentcliModule } from "../modules/agentcli/module.ts";
import { agntcyModule } from "../modules/agntcy/module.ts";
import { consoleModule } from "../modules/console/module.ts";
import { delegationModule } from "../modules/delegation/module.ts";
import { deliveryModule } from "../modules/delivery/module.ts";
import { discoveryModule } from "../modules/discovery/module.ts";
import { floorModule } from "../modules/floor/module.ts";
import { gatewayModule } from "../modules/gateway/module.ts";
import { mcpModule } from "../modules/mcp/module.ts";
import { mcpServersModule } from "../modules/mcp-servers/module.ts";
import { negotiationModule } from "../modules/negotiation/module.ts";
import { openwopModule } from "../modules/openwop/module.ts";
import { searchModule } from "../modules/search/module.ts";
import { tasksModule } from "../modules/tasks/module.ts";
import { tracingModule } from "../modules/tracing/module.ts";
import type { AnyModule } from "./provision.ts";

export const MODULES: readonly AnyModule[] = [
  gatewayModule, // HTTP
  openwopModule, // OpenWOP agents and workflows
  agentcliModule, // agentcli tasks
  agntcyModule, // AGNTCY agents
  mcpModule, // MCP clients
  mcpServersModule, // MCP servers behind endpoints
  tasksModule, // ESCALATE, CONFIRM, SUSPEND, RESUME
  deliveryModule, // NOTIFY
  delegationModule, // EXECUTE, DELEGATE
  negotiationModule, // PROPOSE, PLAN, contracts
  searchModule, // QUERY, SUMMARIZE, DISCOVER by criteria
  floorModule, // INSPECT, the lifecycle of agents
  tracingModule, // traces
  consoleModule, // the pages of operators
  discoveryModule, // DESCRIBE, DISCOVER, the manifest
];
