/**
 * Logs the health of a store: one line when it fails, however many requests meet the fault, and one when it accepts
 * changes again.
 */
import { codeOf } from "../base/thrown.ts";
import type { StateNotice } from "./notice.ts";
import { type StoreFaultKind, StoreUnavailableError, storeFaultKind } from "./store-fault.ts";

export type OnStoreNotice = (notice: StateNotice) => void;

const ADVICE: Readonly<Record<StoreFaultKind, string>> = {
  full: "it goes on by itself when there is room",
  "read-only": "it goes on by itself when it can be written",
  damaged: "what stands on its damaged pages cannot be read until a copy is put back",
  unusable: "it goes on by itself when what is in the way is gone",
  unreachable: "it goes on by itself when its server can be reached",
  refused: "it goes on by itself when the role has its rights",
  undecided: "it goes on by itself when its server can be reached",
};

/** Classifies a driver's error; undefined if it does not concern the store. */
type KindOf = (thrown: unknown) => StoreFaultKind | undefined;

/** Rate limit for faults that come and go with each change, as on a disk that is almost full. */
const TELL_EVERY_MS = 10_000;

export class StoreHealth {
  readonly #onNotice: OnStoreNotice;
  readonly #kindOf: KindOf;
  readonly #told = new Set<StoreFaultKind>();
  /** When each kind was last reported. */
  readonly #toldAt = new Map<StoreFaultKind, number>();

  constructor(onNotice: OnStoreNotice = () => undefined, kindOf: KindOf = storeFaultKind) {
    this.#onNotice = onNotice;
    this.#kindOf = kindOf;
  }

  /** Reports a driver's error, and returns the error to throw instead. */
  failed(thrown: unknown): unknown {
    if (thrown instanceof StoreUnavailableError) {
      this.#tell(thrown);
      return thrown;
    }
    const kind = this.#kindOf(thrown);
    if (kind === undefined) return thrown;
    const fault = new StoreUnavailableError(kind, thrown);
    this.#tell(fault);
    return fault;
  }

  /** Notes a successful change, after which transient faults are over. */
  succeeded(): void {
    if (this.#told.size === 0) return;
    const passed = [...this.#told].filter((kind) => kind !== "damaged");
    for (const kind of passed) this.#told.delete(kind);
    if (passed.length === 0) return;
    const message = "the store takes changes again";
    this.#onNotice({ level: "warn", event: "store-available", message, fields: {} });
  }

  #tell({ kind, message, cause }: StoreUnavailableError): void {
    const now = performance.now();
    const since = now - (this.#toldAt.get(kind) ?? Number.NEGATIVE_INFINITY);
    if (this.#told.has(kind) || since < TELL_EVERY_MS) return;
    this.#told.add(kind);
    this.#toldAt.set(kind, now);
    this.#onNotice({
      level: "error",
      event: "store-unavailable",
      message: `${message}; requests that need it are answered 503, and ${ADVICE[kind]}`,
      fields: { kind, code: codeOf(cause) },
    });
  }
}
