/** Work that is done again and again: after so long, or as soon as it is woken. */

export class Pulse {
  readonly #everyMs: number;
  readonly #beat: () => Promise<void>;
  #isAwake = false;
  #isStopped = false;
  #wake: () => void = () => undefined;
  #running: Promise<void> = Promise.resolve();

  /** `beat` never rejects. */
  constructor(everyMs: number, beat: () => Promise<void>) {
    this.#everyMs = everyMs;
    this.#beat = beat;
  }

  /** Begins with a rest. */
  start(): void {
    this.#running = this.#run();
  }

  /** Ends the rest, or the one that comes next. */
  wake(): void {
    this.#isAwake = true;
    this.#wake();
  }

  /** Resolves once the beat that is under way is over. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      await this.#rest();
      if (this.#isStopped) return;
      await this.#beat();
    }
  }

  async #rest(): Promise<void> {
    if (!this.#isAwake) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, this.#everyMs);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#isAwake = false;
  }
}
