/**
 * Notifies people of escalations over the webhook that the operator configured, when one is opened and
 * when it is decided or expires. Each escalation keeps the id of its last notification, so one that
 * a crash or a full outbox prevented is sent at the next start or sweep. An escalation is in the queue
 * whether its notification is sent or not.
 */
import type { WebhookQueue } from "../../dispatch/module/webhook-queue.ts";
import { type Escalation, escalationView } from "../../state/registers/escalation.ts";
import type { EscalationRegister } from "../../state/registers/escalation-register.ts";
import { isStoreUnavailable } from "../../state/store-fault.ts";

interface NewsOptions {
  readonly escalations: Pick<EscalationRegister, "list" | "told">;
  /** Undefined: no notification is sent. */
  readonly queue: WebhookQueue | undefined;
  readonly url: string | undefined;
  readonly serverId: string;
  /** Called once when notifications start to fail, and again only after all of them went out. */
  onUntold(error: unknown, count: number): void;
}

/** The end of an escalation is not told later than this after it. */
const CLOSED_NEWS_MS = 24 * 3_600_000;

interface News {
  /** The outbox drops a second notification with the same id. */
  readonly id: string;
  readonly type: "escalation.opened" | "escalation.decided" | "escalation.expired";
  readonly expiresAt: number;
}

interface Fault {
  readonly error: unknown;
}

export class EscalationNews {
  readonly #options: NewsOptions;
  /** True once `onUntold` was called for failures that last. */
  #isBehind = false;

  constructor(options: NewsOptions) {
    this.#options = options;
  }

  /** Notifies people of an escalation's current state, once. Never rejects. */
  async tell(escalation: Escalation): Promise<void> {
    const fault = await this.#tell(escalation);
    if (fault !== undefined) this.#fallBehind([fault]);
  }

  /** Sends every notification that is missing, the oldest first. */
  async catchUp(): Promise<void> {
    const { queue, url, escalations } = this.#options;
    if (queue === undefined || url === undefined) return;
    const faults: Fault[] = [];
    for (const escalation of escalations.list().toReversed()) {
      const fault = await this.#tell(escalation);
      if (fault !== undefined) faults.push(fault);
    }
    if (faults.length === 0) this.#isBehind = false;
    else this.#fallBehind(faults);
  }

  #fallBehind(faults: readonly Fault[]): void {
    const [first] = faults;
    if (first === undefined || this.#isBehind) return;
    this.#isBehind = true;
    this.#options.onUntold(first.error, faults.length);
  }

  /** Returns no fault where nothing is left to send, or the store fails, which is logged elsewhere. */
  async #tell(escalation: Escalation): Promise<Fault | undefined> {
    const { queue, url, serverId, escalations } = this.#options;
    if (queue === undefined || url === undefined) return undefined;
    const now = Date.now();
    const { id, type, expiresAt } = newsOf(escalation);
    if (escalation.toldId === id || expiresAt <= now) return undefined;
    const { escalationId } = escalation;
    const view = escalationView(escalation);
    const at = new Date(now).toISOString();
    const body = { type, at, server_id: serverId, escalation: view };
    try {
      await queue.enqueue({ id, url, body, expiresAt, owner: escalation.agentId });
      await escalations.told(escalationId, id);
      return undefined;
    } catch (error) {
      return isStoreUnavailable(error) ? undefined : { error };
    }
  }
}

/** The notification for an escalation's current state. */
function newsOf({ escalationId, status, decision, deadlineAt }: Escalation): News {
  if (status === "expired") {
    const id = `${escalationId}.escalation.expired`;
    return { id, type: "escalation.expired", expiresAt: deadlineAt + CLOSED_NEWS_MS };
  }
  if (decision === undefined) {
    const id = `${escalationId}.escalation.opened`;
    return { id, type: "escalation.opened", expiresAt: deadlineAt };
  }
  const { attestationId: id, at } = decision;
  return { id, type: "escalation.decided", expiresAt: at + CLOSED_NEWS_MS };
}
