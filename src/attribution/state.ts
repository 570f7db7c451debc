/**
 * Everything that outlives a configuration: the store, the ledger, and the registers over them.
 * Opened once for a daemon, and kept through every reload.
 */
import { CertificateRegister } from "../identity/certificate-register.ts";
import { SessionRegister } from "../identity/session-register.ts";
import type { Store } from "../store/store.ts";
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
  const opened = await openLedger({ store, journalDirectory, onFault });
  const lifecycle = await LifecycleRegister.open(store, opened.events);
  const certificates = await CertificateRegister.open(store);
  return {
    store,
    ledger: opened.ledger,
    lifecycle,
    certificates,
    sessions: new SessionRegister(),
    close: async () => {
      await opened.close();
      await store.close();
    },
  };
}
