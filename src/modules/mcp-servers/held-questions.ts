/**
 * Questions whose calls wait at a server of the older protocol. Such a call ends if operators give no answer, and its
 * question is closed once the call is lost, with its connection or its process, so that nobody answers in vain.
 * docs/mcp-servers.md
 */
import type { JsonRecord } from "../../base/json-value.ts";
import { escalationEvent } from "../../dispatch/approvals/escalation-events.ts";
import type { RecordStreamEvents } from "../../dispatch/stream-events.ts";
import { heldIdOf } from "../../handlers/mcp/ask-back.ts";
import type { McpServer } from "../../handlers/mcp/mcp-server.ts";
import { type Holders, mayHold } from "../../state/holders.ts";
import { type Escalation, isOpen } from "../../state/registers/escalation.ts";
import type { EscalationRegister } from "../../state/registers/escalation-register.ts";
import { withdrawal } from "./definition-watch.ts";

/** The register of held questions, the servers and the record. */
interface HeldQuestionsOptions {
  readonly servers: readonly Pick<McpServer, "held">[];
  readonly holders: Holders;
  readonly escalations: Pick<EscalationRegister, "list" | "watch" | "decide" | "now">;
  readonly record: RecordStreamEvents;
  onFault(error: unknown): void;
}

/** True if the call of a question, known by its resume data, is lost. */
type IsGone = (id: string, resume: JsonRecord) => boolean;

const GONE = "the call that asked is gone";

export class HeldQuestions {
  readonly #options: HeldQuestionsOptions;
  #unwatch: readonly (() => void)[] = [];

  constructor(options: HeldQuestionsOptions) {
    this.#options = options;
  }

  /** Closes the questions of processes that are gone, and from now on those of lost calls. */
  start(): void {
    const { servers, holders, escalations } = this.#options;
    this.#closeLeft();
    this.#unwatch = [
      escalations.watch((escalation) => {
        this.#endRejected(escalation);
        // The call may be lost before its escalation is stored.
        this.#closeIfGone(escalation, this.#isLeft);
      }),
      holders.watch(() => this.#closeLeft()),
      ...servers.map(({ held }) => held.onLost((lost) => this.#closeWhere((id) => id === lost))),
    ];
  }

  stop(): void {
    for (const end of this.#unwatch) end();
  }

  /** Drops a call that waits here once its question was rejected, on any node. */
  #endRejected({ status, approval }: Escalation): void {
    const id = heldIdOf(approval?.question?.resume);
    if (status !== "rejected" || id === undefined) return;
    for (const { held } of this.#options.servers) held.drop(id);
  }

  /** Closes questions of other workers and nodes, whose calls wait there, once those are gone. */
  #closeLeft(): void {
    this.#closeWhere(this.#isLeft);
  }

  readonly #isLeft: IsGone = (id, resume) => {
    const { servers, holders } = this.#options;
    return mayHold(holders, resume) && !servers.some(({ held }) => held.has(id));
  };

  #closeWhere(isGone: IsGone): void {
    for (const escalation of this.#options.escalations.list())
      this.#closeIfGone(escalation, isGone);
  }

  #closeIfGone(escalation: Escalation, isGone: IsGone): void {
    if (!isOpen(escalation)) return;
    const { resume = {} } = escalation.approval?.question ?? {};
    const id = heldIdOf(resume);
    if (id === undefined || !isGone(id, resume)) return;
    void this.#close(escalation).catch(this.#options.onFault);
  }

  async #close({ escalationId }: Escalation): Promise<void> {
    const { escalations, record } = this.#options;
    const outcome = await escalations.decide(escalationId, withdrawal(GONE, escalations.now()));
    if (outcome.kind !== "decided") return;
    await record([escalationEvent("escalation_decided", outcome.escalation)]);
  }
}
