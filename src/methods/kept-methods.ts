/**
 * The floor methods that read or change what the server keeps: the lifecycle of agents and INSPECT,
 * each on "/", and the lifecycle on the agents' own paths too.   AGTP "Method Floor"
 */
import type { Attributor } from "../attribution/attributor.ts";
import { LIFECYCLE_METHODS } from "../attribution/lifecycle.ts";
import type { ServerState } from "../attribution/state.ts";
import type { IdentityConfig } from "../config/config.ts";
import { notImplemented } from "../dispatch/refusal.ts";
import type { AgentDirectory } from "../identity/agent-directory.ts";
import { type ContractMethodsOptions, releaseContract } from "./contracts.ts";
import type { FloorMethod, FloorOptions } from "./floor.ts";
import { impactOf } from "./floor.ts";
import { INSPECT_SCHEMA, inspectHandler } from "./inspect.ts";
import type { InspectNotificationOptions } from "./inspect-notification.ts";
import { lifecycleHandlers, lifecycleSchema } from "./lifecycle.ts";
import type { ProtocolEndpoint } from "./protocol-endpoint.ts";

/** What these methods work on. */
export interface KeptMethodsOptions {
  readonly directory: AgentDirectory;
  readonly state: ServerState;
  readonly attributor: Attributor;
  readonly policy: IdentityConfig;
  readonly contracts: ContractMethodsOptions;
  readonly notifications: InspectNotificationOptions;
}

/** By method. */
export function keptMethods(options: KeptMethodsOptions): ReadonlyMap<string, FloorMethod> {
  const { directory, state, policy, contracts, notifications } = options;
  const { ledger, lifecycle: register } = state;
  return new Map<string, FloorMethod>([
    ...lifecycleMethods(options),
    ["SUSPEND", suspendMethod(contracts)],
    [
      "INSPECT",
      {
        inputSchema: INSPECT_SCHEMA,
        handler: inspectHandler({
          ...{ directory, ledger, register, policy, contracts, notifications },
        }),
      },
    ],
  ]);
}

/** What is said of a release stands in the record. */
const TEXT = { type: "string", minLength: 1, maxLength: 1024 };

/** SUSPEND of a contract releases it; a session's is a floor method to come. */
function suspendMethod(contracts: ContractMethodsOptions): FloorMethod {
  return {
    inputSchema: {
      type: "object",
      properties: { synthesis_id: TEXT, reason: TEXT, actor: TEXT },
    },
    handler: (call, exchange) =>
      call.input["synthesis_id"] === undefined
        ? notImplemented("suspend", "this server suspends no sessions")
        : releaseContract(contracts, call, exchange),
  };
}

function lifecycleMethods({
  directory,
  contracts,
  state: { ledger, lifecycle: register, certificates },
  attributor,
  policy,
}: KeptMethodsOptions): readonly (readonly [string, FloorMethod])[] {
  const handlers = lifecycleHandlers({
    ...{ directory, register, certificates },
    ...{ attributor, ledger, policy, contracts },
  });
  return LIFECYCLE_METHODS.flatMap((method) => {
    const handler = handlers.get(method);
    if (handler === undefined) return [];
    return [[method, { inputSchema: lifecycleSchema(method), handler, takesCertificate: true }]];
  });
}

/** The lifecycle methods on `/agents/{agent}`. */
export function agentLifecycleEndpoints(
  methods: ReadonlyMap<string, FloorMethod>,
  describe: FloorOptions["describe"],
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
      },
    ];
  });
}
