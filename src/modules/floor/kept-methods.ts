/**
 * The floor methods that read or change what the server keeps: the lifecycle of agents and INSPECT,
 * each on "/", and the lifecycle on the agents' own paths too.   AGTP "Method Floor"
 */

import type { TaskQueue } from "../../base/task-queue.ts";
import { type DescribeMethod, type FloorMethod, impactOf } from "../../dispatch/floor.ts";
import type { IdentityConfig } from "../../dispatch/policies-config.ts";
import type { ProtocolEndpoint } from "../../dispatch/protocol-endpoint.ts";
import type { RouteHandler } from "../../dispatch/route.ts";
import type { AgentDirectory } from "../../identity/agent-directory.ts";
import type { Attributor } from "../../state/records/attributor.ts";
import { LIFECYCLE_METHODS } from "../../state/registers/lifecycle.ts";
import type { ServerState } from "../../state/state.ts";
import type { ContractMethodsOptions } from "./contracts.ts";
import { inspectHandler, inspectSchema } from "./inspect.ts";
import { lifecycleHandlers, lifecycleSchema } from "./lifecycle.ts";

/** The parts that these methods work on. */
export interface KeptMethodsOptions {
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

/** By method. */
export function keptMethods(options: KeptMethodsOptions): ReadonlyMap<string, FloorMethod> {
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
export function agentLifecycleEndpoints(
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
