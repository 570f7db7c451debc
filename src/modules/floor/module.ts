/** INSPECT and the lifecycle methods of agents.   AGTP "Method Floor" */

import { FLOOR_GROUPS } from "../../catalog/catalog.ts";
import type { Module } from "../../dispatch/module/module.ts";
import type { Taking } from "../../dispatch/module/shared-sections.ts";
import {
  type DescribeMethod,
  describeBy,
  type FloorMethod,
  floorEndpoints,
} from "../../dispatch/routes/floor.ts";
import { type ProtocolEndpoint, protocolRoutes } from "../../dispatch/routes/protocol-endpoint.ts";
import type { FloorContext } from "./contracts.ts";
import { inspectHandler, inspectSchema } from "./inspect.ts";
import { changeLifecycle, lifecycleSchema } from "./lifecycle.ts";

export const floorModule: Module<Taking<"agents" | "policies">> = {
  name: "floor",
  takes: { agents: true, policies: true },
  async provision(context) {
    const describe = describeBy(context.catalog);
    const changing = lifecycleMethods(context);
    const inspect = {
      ...{ inputSchema: inspectSchema(context), handler: inspectHandler(context) },
      looksUp: ["synthesis_id", "notification_id", "escalation_id", "session_id"],
    };
    const methods = new Map([...changing, ["INSPECT", inspect]]);
    const onAgents = agentLifecycleEndpoints(changing, describe);
    return {
      routes: protocolRoutes([...floorEndpoints(methods, describe), ...onAgents], context),
      features: ["lifecycle"],
    };
  },
};

/** The methods that change the status of an agent, by name. */
function lifecycleMethods(context: FloorContext): ReadonlyMap<string, FloorMethod> {
  return new Map(
    FLOOR_GROUPS.lifecycle.map((method): [string, FloorMethod] => [
      method,
      {
        inputSchema: lifecycleSchema(method, context),
        handler: (call, exchange) => changeLifecycle(context, method, call, exchange),
        takesCertificate: true,
        // REVOKE may name a session that another node began a moment ago.
        looksUp: ["session_id"],
      },
    ]),
  );
}

/** The same on `/agents/{agent}`. */
function agentLifecycleEndpoints(
  methods: ReadonlyMap<string, FloorMethod>,
  describe: DescribeMethod,
): readonly ProtocolEndpoint[] {
  return floorEndpoints(methods, describe).map((endpoint) => ({
    ...endpoint,
    ...{ path: "/agents/{agent}", isFindable: false, isReserved: true },
  }));
}
