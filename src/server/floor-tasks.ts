/**
 * The floor methods about what waits: ESCALATE and CONFIRM with the queue of escalations, SUSPEND
 * and RESUME of sessions; and the clock that closes what nobody came back to.
 * AGTP "ESCALATE", "CONFIRM", "SUSPEND"
 */
import type { RouteHandler } from "../dispatch/route.ts";
import { confirmMethod } from "../methods/confirm.ts";
import { confirmableEscalations } from "../methods/confirm-escalation.ts";
import { releaseContract } from "../methods/contracts.ts";
import { endSessionHandler } from "../methods/end-session.ts";
import { escalateMethod } from "../methods/escalate.ts";
import { maySee } from "../methods/escalation-authority.ts";
import { escalationEndpoints } from "../methods/escalation-endpoints.ts";
import { escalationEvent } from "../methods/escalation-events.ts";
import type { FloorMethod } from "../methods/floor.ts";
import { inspectNotification } from "../methods/inspect-notification.ts";
import { resumeEndpoint } from "../methods/resume.ts";
import { endSessionContracts } from "../methods/session-end.ts";
import { recordStreamEvents } from "../methods/stream-events.ts";
import { suspendMethod } from "../methods/suspend.ts";
import { taskInspections } from "../methods/task-inspections.ts";
import { escalationSource } from "../tasks/escalation-source.ts";
import { createEscalationNews } from "./escalation-news.ts";
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
  const onFault = (error: unknown): void => log.warn({ error }, "escalations are not looked after");
  const record = recordStreamEvents(parts);
  const news = createEscalationNews(parts);
  const confirm = confirmMethod(parts.confirmables);
  const release: RouteHandler = (call, exchange) =>
    releaseContract(negotiation.contractMethods, call, exchange);
  const canResume = methodPolicy.isKnown("RESUME") && methodPolicy.isAllowed("RESUME");
  const operators = operatorNames(parts);
  const methods = new Map<string, FloorMethod>([
    ["ESCALATE", escalateMethod({ directory, escalations, news, operators })],
    ["CONFIRM", confirm],
    ["SUSPEND", suspendMethod({ sessions, suspensions, releaseContract: release, canResume })],
  ]);
  const sweep = async (): Promise<void> => {
    for (const escalation of await escalations.sweep()) {
      await record([escalationEvent("escalation_expired", escalation)]).catch(onFault);
      await news.closed("escalation.expired", escalation);
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
    confirmables: [confirmableEscalations({ escalations, policy, attributor, record, news })],
    ...repeatedly(sweep, onFault),
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

/** Runs at the start and from time to time, never twice at once. */
function repeatedly(
  work: () => Promise<void>,
  onFault: (error: unknown) => void,
): Required<Pick<FloorPart, "start" | "close">> {
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();
  const run = (): void => {
    running = running.then(work).catch(onFault);
  };
  return {
    start: () => {
      run();
      timer = setInterval(run, SWEEP_MS);
      timer.unref();
    },
    close: async () => {
      clearInterval(timer);
      await running;
    },
  };
}
