/**
 * Questions in whose calls a server of the older protocol waits: such a call is ended when operators
 * give no answer, and its question is closed when the call is gone, with its connection or with the
 * process, so that nobody answers in vain.   docs/mcp-servers.md
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

/** The register that held questions are found in, and who is told. */
interface HeldQuestionsOptions {
  readonly servers: readonly Pick<McpServer, "held">[];
  readonly holders: Holders;
  readonly escalations: Pick<EscalationRegister, "list" | "watch" | "decide" | "now">;
  readonly record: RecordStreamEvents;
  onFault(error: unknown): void;
}

/** Tells by what a call goes on from whether it is gone. */
type IsGone = (id: string, resume: JsonRecord) => boolean;

const GONE = "the call that asked is gone";

export class HeldQuestions {
  readonly #options: HeldQuestionsOptions;
  #unwatch: readonly (() => void)[] = [];

  constructor(options: HeldQuestionsOptions) {
    this.#options = options;
  }

  /** Closes what processes that are gone have left, and from now on what is lost. */
  start(): void {
    const { servers, holders, escalations } = this.#options;
    this.#closeLeft();
    this.#unwatch = [
      escalations.watch((escalation) => {
        this.#endRejected(escalation);
        // Its call may be gone by the time that it is kept.
        this.#closeIfGone(escalation, this.#isLeft);
      }),
      holders.watch(() => this.#closeLeft()),
      ...servers.map(({ held }) => held.onLost((lost) => this.#closeWhere((id) => id === lost))),
    ];
  }

  stop(): void {
    for (const end of this.#unwatch) end();
  }

  /** A call without an answer is ended where it waits, wherever operators have said so. */
  #endRejected({ status, approval }: Escalation): void {
    const id = heldIdOf(approval?.question?.resume);
    if (status !== "rejected" || id === undefined) return;
    for (const { held } of this.#options.servers) held.drop(id);
  }

  /** Calls of other workers and nodes wait there: what is theirs is closed once they are gone. */
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
