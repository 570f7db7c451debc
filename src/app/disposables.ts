/**
 * Everything that a deployment holds open, noted as it is opened, so that nothing is left whatever
 * comes of it.
 */

/** Something that has to be closed. */
interface Closable {
  close(): Promise<unknown>;
}

export class Disposables {
  readonly #all = new Set<Closable>();

  /** Notes it. */
  add<T extends Closable>(one: T): T {
    this.#all.add(one);
    return one;
  }

  /** Closes everything; what is closed already may be closed again. */
  async close(): Promise<void> {
    await Promise.all([...this.#all].map((one) => one.close()));
  }
}
