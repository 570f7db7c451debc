/** INSPECT and the lifecycle of agents: what reads or changes the state of this server.   AGTP "Method Floor" */

import type { TaskQueue } from "../../base/task-queue.ts";
import { recordContractEvents } from "../../dispatch/contracts/contract-events.ts";
import type { Module } from "../../dispatch/module/module.ts";
import type { Taking } from "../../dispatch/module/shared-sections.ts";
import type { IdentityConfig } from "../../dispatch/policy/policies-config.ts";
import {
  type DescribeMethod,
  describeBy,
  type FloorMethod,
  floorEndpoints,
  impactOf,
} from "../../dispatch/routes/floor.ts";
import { type ProtocolEndpoint, protocolRoutes } from "../../dispatch/routes/protocol-endpoint.ts";
import type { RouteHandler } from "../../dispatch/routes/route.ts";
import type { AgentDirectory } from "../../identity/agent-directory.ts";
import type { Attributor } from "../../state/records/ledger.ts";
import { LIFECYCLE_METHODS } from "../../state/registers/lifecycle.ts";
import type { ServerState } from "../../state/state.ts";
import type { ContractMethodsOptions } from "./contracts.ts";
import { inspectHandler, inspectSchema } from "./inspect.ts";
import { lifecycleHandlers, lifecycleSchema } from "./lifecycle.ts";

export const floorModule: Module<Taking<"policies">> = {
  name: "floor",
  takes: { policies: true },
  async provision(context) {
    const { config, state, attempts, recipes } = context;
    const describe = describeBy(context.catalog);
    const methods = keptMethods({
      ...context,
      policy: config.policies.identity,
      contracts: {
        ...{ register: state.contracts, attempts, recipes, rcns: config.policies.rcns },
        record: recordContractEvents(context),
      },
    });
    const onAgents = agentLifecycleEndpoints(methods, describe);
    return {
      routes: protocolRoutes([...floorEndpoints(methods, describe), ...onAgents], context),
      features: ["lifecycle"],
    };
  },
};

/** The parts that these methods work on. */
interface KeptMethodsOptions {
  readonly directory: AgentDirectory;
  readonly state: Pick<ServerState, "ledger" | "lifecycle" | "certificates">;
  readonly attributor: Attributor;
  readonly policy: IdentityConfig;
  readonly contracts: ContractMethodsOptions;
  readonly work: TaskQueue;
  /** Further targets of INSPECT. */
  readonly inspections: ReadonlyMap<string, RouteHandler>;
  /** Further targets of REVOKE. */
  readonly revocations: ReadonlyMap<string, RouteHandler>;
}

/** The methods that read or change what the server keeps, by name. */
function keptMethods(options: KeptMethodsOptions): ReadonlyMap<string, FloorMethod> {
  const { directory, state, policy, contracts, work, inspections: others } = options;
  const { ledger, lifecycle: register } = state;
  const inspected = { directory, ledger, register, policy, contracts, work, others };
  return new Map<string, FloorMethod>([
    ...lifecycleMethods(options),
    [
      "INSPECT",
      {
        ...{ inputSchema: inspectSchema(inspected), handler: inspectHandler(inspected) },
        looksUp: ["synthesis_id", "notification_id", "escalation_id", "session_id"],
      },
    ],
  ]);
}

function lifecycleMethods({
  directory,
  contracts,
  state: { ledger, lifecycle: register, certificates },
  attributor,
  policy,
  revocations,
}: KeptMethodsOptions): readonly (readonly [string, FloorMethod])[] {
  const handlers = lifecycleHandlers({
    ...{ directory, register, certificates },
    ...{ attributor, ledger, policy, contracts, revocations },
  });
  return LIFECYCLE_METHODS.flatMap((method) => {
    const handler = handlers.get(method);
    if (handler === undefined) return [];
    return [
      [
        method,
        { inputSchema: lifecycleSchema(method, revocations), handler, takesCertificate: true },
      ],
    ];
  });
}

/** The lifecycle methods on `/agents/{agent}`. */
function agentLifecycleEndpoints(
  methods: ReadonlyMap<string, FloorMethod>,
  describe: DescribeMethod,
): readonly ProtocolEndpoint[] {
  return LIFECYCLE_METHODS.flatMap((method) => {
    const floor = methods.get(method);
    if (floor === undefined) return [];
    return [
      {
        ...floor,
        ...describe(method),
        method,
        path: "/agents/{agent}",
        impact: impactOf(method),
        isReading: false,
        isListed: false,
        isFindable: false,
        isReserved: true,
      },
    ];
  });
}
