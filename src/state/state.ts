/**
 * Everything that outlives a configuration: the store, the ledger, and the registers over them.
 * Opened once for a daemon, and kept through every reload.
 */

import { SessionRegister } from "../identity/session-register.ts";
import { CertificateRegister } from "./certificate-register.ts";
import { IdempotencyRegister } from "./idempotency-register.ts";
import type { JournalDisk } from "./journal-disk.ts";
import type { Ledger } from "./ledger.ts";
import { LifecycleRegister } from "./lifecycle-register.ts";
import type { StateNotice } from "./notice.ts";
import { openLedger } from "./open-ledger.ts";
import type { Store } from "./store.ts";

/** The state of a daemon. */
export interface ServerState {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly lifecycle: LifecycleRegister;
  readonly certificates: CertificateRegister;
  readonly sessions: SessionRegister;
  readonly idempotency: IdempotencyRegister;
  /** Keeps what is pending and closes everything, the store too. */
  close(): Promise<void>;
}

export interface StateOptions {
  readonly store: Store;
  /** Undefined: records end with the process. */
  readonly journalDirectory: string | undefined;
  onFault(error: unknown): void;
  onNotice?(notice: StateNotice): void;
  readonly disk?: JournalDisk;
  now?(): number;
}

/** Opens the state over a store, which it takes over. */
export async function openState(options: StateOptions): Promise<ServerState> {
  const { store } = options;
  let lifecycle: LifecycleRegister | undefined;
  const beforeCheckpoint = async (): Promise<void> => lifecycle?.save();
  const opened = await openLedger({ ...options, beforeCheckpoint });
  lifecycle = await LifecycleRegister.open(store, opened.events);
  // Not before: what the events led to is in the store by now.
  await opened.checkpoint();
  const certificates = await CertificateRegister.open(store);
  return {
    store,
    ledger: opened.ledger,
    lifecycle,
    certificates,
    sessions: new SessionRegister(),
    idempotency: await IdempotencyRegister.open(store),
    close: async () => {
      try {
        await opened.close();
      } finally {
        await store.close();
      }
    },
  };
}
