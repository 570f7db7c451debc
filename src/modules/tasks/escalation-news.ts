/**
 * Tells people of escalations, where the operator has named an endpoint for it: that somebody is
 * asked, and what became of it. Each escalation remembers what people were told of it last, so that
 * what a crash or a full outbox has kept from them is told at the next start, or a little later. An
 * escalation is in the queue whether people hear of it or not.
 */
import type { WebhookQueue } from "../../dispatch/module/webhook-queue.ts";
import { type Escalation, escalationView } from "../../state/registers/escalation.ts";
import type { EscalationRegister } from "../../state/registers/escalation-register.ts";
import { isStoreUnavailable } from "../../state/store-fault.ts";

interface NewsOptions {
  readonly escalations: Pick<EscalationRegister, "list" | "told">;
  /** Undefined: nobody is told. */
  readonly queue: WebhookQueue | undefined;
  readonly url: string | undefined;
  readonly serverId: string;
  /** Hears once that there are some that cannot be told now, until all of them are. */
  onUntold(error: unknown, count: number): void;
}

/** The time during which people can be told that an escalation is over. */
const CLOSED_NEWS_MS = 24 * 3_600_000;

interface News {
  /** The outbox takes nothing twice under one id. */
  readonly id: string;
  readonly type: "escalation.opened" | "escalation.decided" | "escalation.expired";
  readonly expiresAt: number;
}

interface Fault {
  readonly error: unknown;
}

export class EscalationNews {
  readonly #options: NewsOptions;
  /** Somebody has heard that some cannot be told. */
  #isBehind = false;

  constructor(options: NewsOptions) {
    this.#options = options;
  }

  /** Tells how an escalation stands, unless that was told. Never rejects. */
  async tell(escalation: Escalation): Promise<void> {
    const fault = await this.#tell(escalation);
    if (fault !== undefined) this.#fallBehind([fault]);
  }

  /** Tells whatever was not told, the oldest first. */
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

  /** Undefined: there is no more to tell, or the store fails, which is said elsewhere. */
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

/** All that there is to tell of an escalation as it stands. */
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
