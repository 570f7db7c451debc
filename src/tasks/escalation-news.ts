/**
 * Tells people of escalations, where the operator has named an endpoint for it. What the outbox does
 * not take is told at the next start; an escalation is in the queue whether people hear of it or not.
 */
import type { WebhookQueue } from "../delivery/webhook-queue.ts";
import { type Escalation, escalationView, isOpen } from "./escalation.ts";
import type { EscalationRegister } from "./escalation-register.ts";

/** What it takes to tell people. */
export interface NewsOptions {
  readonly escalations: Pick<EscalationRegister, "list" | "announced">;
  /** Undefined: nobody is told. */
  readonly queue: WebhookQueue | undefined;
  readonly url: string | undefined;
  readonly serverId: string;
  onFault(error: unknown): void;
}

/** How long people can be told that an escalation is over. */
const CLOSED_NEWS_MS = 24 * 3_600_000;

type NewsType = "escalation.opened" | "escalation.decided" | "escalation.expired";

export class EscalationNews {
  readonly #options: NewsOptions;

  constructor(options: NewsOptions) {
    this.#options = options;
  }

  /** Somebody is asked to decide. Never rejects. */
  async opened(escalation: Escalation): Promise<void> {
    const { escalationId, deadlineAt } = escalation;
    const isTold = await this.#tell("escalation.opened", escalation, deadlineAt);
    if (!isTold) return;
    await this.#options.escalations.announced(escalationId).catch(this.#options.onFault);
  }

  /** Nobody need decide any more, or somebody has taken it up. Never rejects. */
  async closed(
    type: Exclude<NewsType, "escalation.opened">,
    escalation: Escalation,
  ): Promise<void> {
    await this.#tell(type, escalation, Date.now() + CLOSED_NEWS_MS);
  }

  /** Tells of what is open and was not told of. */
  async catchUp(): Promise<void> {
    if (!this.#hasWay) return;
    const now = Date.now();
    for (const escalation of this.#options.escalations.list().toReversed()) {
      if (isOpen(escalation, now) && !escalation.isAnnounced) await this.opened(escalation);
    }
  }

  get #hasWay(): boolean {
    return this.#options.queue !== undefined && this.#options.url !== undefined;
  }

  async #tell(type: NewsType, escalation: Escalation, expiresAt: number): Promise<boolean> {
    const { queue, url, serverId, onFault } = this.#options;
    if (queue === undefined || url === undefined) return false;
    const { escalationId, decision } = escalation;
    const id = type === "escalation.decided" ? decision?.attestationId : undefined;
    const at = new Date().toISOString();
    const view = escalationView(escalation, Date.now());
    const body = { type, at, server_id: serverId, escalation: view };
    try {
      await queue.enqueue({ id: id ?? `${escalationId}.${type}`, url, body, expiresAt });
      return true;
    } catch (error) {
      onFault(error);
      return false;
    }
  }
}
