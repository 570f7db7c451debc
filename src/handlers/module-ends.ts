/**
 * The close hooks of handler modules. An exported `onClose` is called once its deployment is no
 * longer used, to release what the module opened, such as a pool of database
 * connections.   AGTP-API §12.2
 */
import { raceAbort, within } from "../base/deadline.ts";
import { reasonOf } from "../base/thrown.ts";

/** A module's close hook; it may take up to `LONGEST_MS`. */
export type OnClose = () => unknown;

/** Shorter than the time that a parent process gives each worker to end. */
const LONGEST_MS = 3_000;

/** The close hooks of a deployment's modules. */
export class ModuleEnds {
  /** Hooks with their modules; a function that several modules export is called once. */
  readonly #ends = new Map<OnClose, string>();
  readonly #tell: (message: string) => void;
  readonly #longestMs: number;
  #underWay = 0;
  #isRetired = false;
  #closing: Promise<void> | undefined;

  /** @param tell is called for a hook that fails or is late */
  constructor(tell: (message: string) => void, longestMs: number = LONGEST_MS) {
    this.#tell = tell;
    this.#longestMs = longestMs;
  }

  /** Fast path: most deployments have no hooks, and count no requests. */
  get isEmpty(): boolean {
    return this.#ends.size === 0;
  }

  add(end: OnClose, module: string): void {
    this.#ends.set(end, module);
  }

  /** Counts a request during which no module is closed. */
  during<T>(answer: () => T | Promise<T>): T | Promise<T> {
    this.#underWay += 1;
    let answered: T | Promise<T>;
    try {
      answered = answer();
    } catch (error) {
      this.#endRequest();
      throw error;
    }
    if (answered instanceof Promise) return answered.finally(() => this.#endRequest());
    this.#endRequest();
    return answered;
  }

  /** Another deployment is served: the modules close after the last request. */
  retire(): void {
    this.#isRetired = true;
    if (this.#underWay === 0) void this.close();
  }

  /** Calls every hook, once; resolves when they are done or out of time. */
  close(): Promise<void> {
    this.#closing ??= Promise.all([...this.#ends].map((one) => this.#end(...one))).then(() => {});
    return this.#closing;
  }

  #endRequest(): void {
    this.#underWay -= 1;
    if (this.#isRetired && this.#underWay === 0) void this.close();
  }

  async #end(end: OnClose, module: string): Promise<void> {
    const ending = async (): Promise<unknown> => end();
    const time = { signals: [], timeoutMs: this.#longestMs };
    try {
      const ended = await within(time, (signal) => raceAbort(ending(), signal));
      if (ended === "aborted")
        this.#tell(`onClose of "${module}" takes too long: nobody waits for it`);
    } catch (error) {
      this.#tell(`onClose of "${module}" failed: ${reasonOf(error)}`);
    }
  }
}
