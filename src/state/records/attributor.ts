/**
 * Drafts the Attribution-Record of a response, and says where it belongs: in the chain of the agent
 * it is about, or nowhere. Records of nobody in particular are signed and sent, and kept nowhere: no
 * stranger can make the server write.   AGTP-IDENTIFIERS "Attribution-Record"
 */
import { type Chain, RecordDraft } from "./draft.ts";
import type { Ledger } from "./ledger.ts";
import { type RecordFacts, recordPayload } from "./record.ts";
import type { Sealer } from "./sealer.ts";

interface AttributorOptions {
  readonly serverId: string;
  readonly sealer: Sealer;
  readonly ledger: Ledger;
}

export class Attributor {
  readonly #serverId: string;
  readonly #sealer: Sealer;
  readonly #ledger: Ledger;

  constructor({ serverId, sealer, ledger }: AttributorOptions) {
    this.#serverId = serverId;
    this.#sealer = sealer;
    this.#ledger = ledger;
  }

  /** True while records can be kept. */
  get isWritable(): boolean {
    return this.#ledger.isWritable;
  }

  /** True where it is the store that they cannot be kept in. */
  get isInStore(): boolean {
    return this.#ledger.isInStore;
  }

  /** The next record of the agent's chain; sealed and kept once the ledger has settled. */
  chained(facts: RecordFacts): RecordDraft {
    const { agentId, method } = facts;
    const at = this.#ledger.timeFor(agentId);
    const payload = recordPayload(facts, this.#serverId, at);
    const isEvent = facts.extension?.["event_type"] !== undefined;
    const chain: Chain = isEvent ? { agentId, at, method, isEvent } : { agentId, at, method };
    return this.#ledger.add(new RecordDraft(payload, this.#sealer, chain));
  }

  /** A record that is in no chain; sealed once the ledger has settled. */
  unchained(facts: RecordFacts): RecordDraft {
    const payload = recordPayload(facts, this.#serverId, Date.now());
    return this.#ledger.add(new RecordDraft(payload, this.#sealer, undefined));
  }
}
