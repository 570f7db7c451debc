/**
 * Everything that outlives a configuration: the store, the ledger, and the registers over them.
 * Opened once for a daemon, and kept through every reload.
 */
import { CertificateRegister } from "../identity/certificate-register.ts";
import { SessionRegister } from "../identity/session-register.ts";
import type { Store } from "../store/store.ts";
import { IdempotencyRegister } from "./idempotency-register.ts";
import type { Ledger } from "./ledger.ts";
import { LifecycleRegister } from "./lifecycle-register.ts";
import { openLedger } from "./open-ledger.ts";

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
}

/** Opens the state over a store, which it takes over. */
export async function openState({
  store,
  journalDirectory,
  onFault,
}: StateOptions): Promise<ServerState> {
  let lifecycle: LifecycleRegister | undefined;
  const beforeCheckpoint = async (): Promise<void> => lifecycle?.save();
  const opened = await openLedger({ store, journalDirectory, beforeCheckpoint, onFault });
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
