/**
 * The floor methods about what waits: ESCALATE and CONFIRM with the queue of escalations, SUSPEND
 * and RESUME of sessions; and the clock that closes what nobody came back to.
 * AGTP "ESCALATE", "CONFIRM", "SUSPEND"
 */

import { maySee } from "../dispatch/escalation-authority.ts";
import { escalationEvent } from "../dispatch/escalation-events.ts";
import type { FloorMethod } from "../dispatch/floor.ts";
import type { RouteHandler } from "../dispatch/route.ts";
import { recordStreamEvents } from "../dispatch/stream-events.ts";
import { inspectNotification } from "../modules/delivery/inspect-notification.ts";
import { releaseContract } from "../modules/floor/contracts.ts";
import { confirmMethod } from "../modules/tasks/confirm.ts";
import { confirmableEscalations } from "../modules/tasks/confirm-escalation.ts";
import { endSessionHandler } from "../modules/tasks/end-session.ts";
import { escalateMethod } from "../modules/tasks/escalate.ts";
import { escalationEndpoints } from "../modules/tasks/escalation-endpoints.ts";
import { EscalationNews } from "../modules/tasks/escalation-news.ts";
import { escalationSource } from "../modules/tasks/escalation-source.ts";
import { resumeEndpoint } from "../modules/tasks/resume.ts";
import { endSessionContracts } from "../modules/tasks/session-end.ts";
import { suspendMethod } from "../modules/tasks/suspend.ts";
import { taskInspections } from "../modules/tasks/task-inspections.ts";
import { exceptStoreFaults } from "../state/store-fault.ts";
import type { FloorPart, FloorParts, ProtocolParts } from "./protocol-parts.ts";

/** How long after its time something may be found open yet; whoever asks sees it closed at once. */
const SWEEP_MS = 30_000;

/** The part. */
export function createTasksPart(parts: FloorParts): FloorPart {
  const { config, floor, negotiation, state, attributor, directory, describe, log } = parts;
  const { methodPolicy } = parts;
  const { escalations, suspensions } = floor.tasks;
  const { sessions } = state;
  const policy = config.policies.identity;
  const onFault = exceptStoreFaults((error) =>
    log.warn({ error }, "escalations are not looked after"),
  );
  const record = recordStreamEvents(parts);
  const news = new EscalationNews({
    ...{ escalations, onFault, queue: floor.webhooks, url: config.webhooks.escalations },
    serverId: config.server.serverId,
  });
  const confirm = confirmMethod(parts.confirmables);
  const release: RouteHandler = (call, exchange) =>
    releaseContract(negotiation.contractMethods, call, exchange);
  const canResume = methodPolicy.isKnown("RESUME") && methodPolicy.isAllowed("RESUME");
  const operators = operatorNames(parts);
  const methods = new Map<string, FloorMethod>([
    ["ESCALATE", escalateMethod({ directory, escalations, operators })],
    ["CONFIRM", confirm],
    ["SUSPEND", suspendMethod({ sessions, suspensions, releaseContract: release, canResume })],
  ]);
  const sweep = async (): Promise<void> => {
    for (const escalation of await escalations.sweep()) {
      await record([escalationEvent("escalation_expired", escalation)]).catch(onFault);
    }
    await suspensions.sweep((suspension) =>
      endSessionContracts(negotiation.contractMethods, suspension, "session-expired"),
    );
    await news.catchUp();
  };
  return {
    methods,
    endpoints: [
      ...escalationEndpoints({ escalations, policy, confirm }),
      resumeEndpoint({ sessions, suspensions, describe }),
    ],
    sources: [escalationSource(escalations, (one, asker) => maySee(one, asker, policy))],
    confirmables: [confirmableEscalations({ escalations, policy, attributor, record })],
    ...repeatedly(sweep, onFault, () => escalations.tellBy(news)),
  };
}

/** What INSPECT and REVOKE know of what waits. */
export function taskTargets({ floor, state, config, negotiation }: ProtocolParts): {
  readonly inspections: ReadonlyMap<string, RouteHandler>;
  readonly endSession: RouteHandler;
} {
  const policy = config.policies.identity;
  const { sessions } = state;
  const { suspensions } = floor.tasks;
  const contracts = negotiation.contractMethods;
  const notified = { register: floor.notifications, outbox: floor.webhooks };
  return {
    inspections: new Map([
      ...taskInspections({ ...floor.tasks, sessions, policy }),
      ["notification", (call, exchange) => inspectNotification(notified, call, exchange)],
    ]),
    endSession: endSessionHandler({ sessions, suspensions, contracts, policy }),
  };
}

/** What an agent may call the people behind this server. */
function operatorNames({ config: { server } }: FloorParts): ReadonlySet<string> {
  const named = [server.operator, server.contact].flatMap((name) => name ?? []);
  return new Set(["operators", "operator", "human", ...named].map((name) => name.toLowerCase()));
}

/** Runs at the start and from time to time, never twice at once; `begin` answers how to end it. */
function repeatedly(
  work: () => Promise<void>,
  onFault: (error: unknown) => void,
  begin: () => () => void,
): Required<Pick<FloorPart, "start" | "close">> {
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();
  let end = (): void => undefined;
  const run = (): void => {
    running = running.then(work).catch(onFault);
  };
  return {
    start: () => {
      end = begin();
      run();
      timer = setInterval(run, SWEEP_MS);
      timer.unref();
    },
    close: async () => {
      clearInterval(timer);
      end();
      await running;
    },
  };
}
