/**
 * The floor methods of paused work: ESCALATE and CONFIRM with the queue of escalations, SUSPEND
 * and RESUME of sessions; and the timer that closes those that expired.
 * AGTP "ESCALATE", "CONFIRM", "SUSPEND"
 */

import { reasonOf } from "../../base/thrown.ts";
import { escalationEvent } from "../../dispatch/approvals/escalation-events.ts";
import { isDisclosedTo } from "../../dispatch/caller/disclosure.ts";
import { createContractRecorder } from "../../dispatch/contracts/contract-events.ts";
import type { Contribution, Module, ModuleContext } from "../../dispatch/module/module.ts";
import type { Taking } from "../../dispatch/module/shared-sections.ts";
import { describeBy, type FloorMethod, floorEndpoints } from "../../dispatch/routes/floor.ts";
import { protocolRoutes } from "../../dispatch/routes/protocol-endpoint.ts";
import { createStreamRecorder } from "../../dispatch/stream-events.ts";
import { exceptStoreFaults } from "../../state/store-fault.ts";
import { confirmableEscalations, confirmMethod } from "./confirm-escalation.ts";
import { endSessionContracts, endSessionHandler, inspectSession } from "./end-session.ts";
import { escalateMethod } from "./escalate.ts";
import {
  escalationEndpoints,
  escalationSource,
  inspectEscalation,
} from "./escalation-endpoints.ts";
import { EscalationNews } from "./escalation-news.ts";
import { releaseContract, resumeEndpoint, suspendMethod } from "./suspend.ts";

/** The interval of sweeps; callers see an expired entry as closed at once. */
const SWEEP_MS = 30_000;

interface TasksSections extends Taking<"agents" | "policies" | "server"> {
  readonly webhooks: { readonly escalations?: string };
}

type TasksContext = ModuleContext<TasksSections>;

export const tasksModule: Module<TasksSections> = {
  name: "tasks",
  takes: { agents: true, policies: true, server: true, webhooks: true },
  async provision(context) {
    const { config, state, attributor, directory, methodPolicy } = context;
    const { escalations, suspensions, sessions } = state;
    const policy = config.policies.identity;
    const contracts = { register: state.contracts, record: createContractRecorder(context) };
    const record = createStreamRecorder(context);
    const describe = describeBy(context.catalog);
    const confirm = confirmMethod(() => context.deployment().confirmables);
    const canResume = methodPolicy.isKnown("RESUME") && methodPolicy.isAllowed("RESUME");
    const operators = operatorNames(config);
    const methods = new Map<string, FloorMethod>([
      [
        "ESCALATE",
        escalateMethod({
          ...{ directory, escalations, operators },
          isDisclosedTo: (agentId) => isDisclosedTo(context, agentId),
        }),
      ],
      ["CONFIRM", confirm],
      [
        "SUSPEND",
        suspendMethod({
          ...{ sessions, suspensions, canResume },
          releaseContract: (call, exchange) => releaseContract(contracts, call, exchange),
        }),
      ],
    ]);
    const endpoints = [
      ...floorEndpoints(methods, describe),
      ...escalationEndpoints({ escalations, policy, confirm }),
      resumeEndpoint({ sessions, suspensions, describe }),
    ];
    return {
      routes: protocolRoutes(endpoints, context),
      sources: [escalationSource({ escalations, policy })],
      confirmables: [confirmableEscalations({ escalations, policy, attributor, record })],
      inspections: new Map([
        ["escalation", inspectEscalation({ escalations, policy })],
        ["session", inspectSession({ suspensions, sessions, policy })],
      ]),
      revocations: new Map([
        ["session", endSessionHandler({ sessions, suspensions, contracts, policy })],
      ]),
      ...closing(context, contracts),
    };
  },
};

/** Closes expired escalations and suspensions, and sends missing notifications. */
function closing(
  context: TasksContext,
  contracts: Parameters<typeof endSessionContracts>[0],
): Pick<Contribution, "start" | "stop"> {
  const { config, log } = context;
  const { escalations, suspensions } = context.state;
  const record = createStreamRecorder(context);
  const onFault = exceptStoreFaults((error) =>
    log.warn({ error }, "escalations are not looked after"),
  );
  let timer: NodeJS.Timeout | undefined;
  let untell: (() => void) | undefined;
  /** Sweeps run one after the other. */
  let running = Promise.resolve();
  return {
    start: () => {
      const news = new EscalationNews({
        ...{ escalations, queue: context.deployment().webhooks },
        onUntold: (error, count) =>
          log.warn(
            { event: "escalations-untold", reason: reasonOf(error), count },
            "people cannot be told of escalations yet",
          ),
        url: config.webhooks.escalations,
        serverId: config.server.serverId,
      });
      untell = escalations.tellBy(news);
      const work = async (): Promise<void> => {
        for (const escalation of await escalations.sweep()) {
          await record([escalationEvent("escalation_expired", escalation)]).catch(onFault);
        }
        await suspensions.sweep((suspension) => endSessionContracts(contracts, suspension));
        await news.catchUp();
      };
      const run = (): void => {
        running = running.then(work).catch(onFault);
      };
      run();
      timer = setInterval(run, SWEEP_MS).unref();
    },
    stop: async () => {
      clearInterval(timer);
      untell?.();
      await running;
    },
  };
}

/** The recipient names that stand for the operators, in lower case. */
function operatorNames({ server }: TasksSections): ReadonlySet<string> {
  const named = [server.operator, server.contact].flatMap((name) => name ?? []);
  return new Set(["operators", "operator", "human", ...named].map((name) => name.toLowerCase()));
}
