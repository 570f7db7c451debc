/**
 * The effects of the public suite's nodes on the world: a row for each time, kept beside the
 * logs and by nobody's fold, so that counting them proves that a replay does nothing twice.
 * OpenWOP RFC 0140, "idempotency" Layer 2
 */
import { createHash } from "node:crypto";
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import type { Store } from "../../../state/store.ts";
import type { Run } from "./run.ts";
import { EFFECTS } from "./run-entry.ts";

/** One thing that was done. */
interface Effect {
  readonly effectId: string;
  readonly nodeId: string;
  /** The sequence at which the execution began that did it. */
  readonly startedSequence: number;
  readonly at: string;
}

const MOST = 1000;

export class EffectLedger {
  readonly #store: Store;
  readonly #now: () => number;

  constructor(store: Store, now: () => number = Date.now) {
    this.#store = store;
    this.#now = now;
  }

  /** Records an effect, and answers with its id. */
  async record(run: Run, nodeId: string, startedSequence: number): Promise<string> {
    const { runId, owner } = run;
    const effectId = idOf([owner.tenant, runId, nodeId, String(startedSequence)]);
    const at = new Date(this.#now()).toISOString();
    const value: Effect = { effectId, nodeId, startedSequence, at };
    const key = `${runId}/${effectId}`;
    await this.#store.commit([{ kind: "put", collection: EFFECTS, key, value }]);
    return effectId;
  }

  /** The effects of a run. */
  async of(runId: string): Promise<readonly JsonRecord[]> {
    const rows = await this.#store.list(EFFECTS, { prefix: `${runId}/`, limit: MOST });
    return rows.flatMap(({ value }) => (isRecord(value) ? [value] : []));
  }
}

function idOf(parts: readonly string[]): string {
  const text = ["openwop:activity:v2", ...parts, "ledger"].join("\0");
  return createHash("sha256").update(text).digest("base64url");
}
