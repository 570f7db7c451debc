/**
 * The ends of handler modules. One that exports `onClose` has it called when its deployment has no more use for it,
 * to end what its top level opened, such as a pool of database connections.   AGTP-API §12.2
 */
import { raceAbort, within } from "../base/deadline.ts";
import { reasonOf } from "../base/thrown.ts";

/** A module's own end; it may take its time, up to `LONGEST_MS`. */
export type OnClose = () => unknown;

/** Less than the parent of workers waits for the last words of each. */
const LONGEST_MS = 3_000;

/** The ends of a deployment's modules. */
export class ModuleEnds {
  /** With their modules; modules that export the same function end once. */
  readonly #ends = new Map<OnClose, string>();
  readonly #tell: (message: string) => void;
  readonly #longestMs: number;
  #underWay = 0;
  #isRetired = false;
  #closing: Promise<void> | undefined;

  /** @param tell hears of an end that fails or is late */
  constructor(tell: (message: string) => void, longestMs: number = LONGEST_MS) {
    this.#tell = tell;
    this.#longestMs = longestMs;
  }

  /** Most deployments have none, and count nothing. */
  get isEmpty(): boolean {
    return this.#ends.size === 0;
  }

  add(end: OnClose, module: string): void {
    this.#ends.set(end, module);
  }

  /** Answers a request, for which all modules stay. */
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

  /** Another deployment is served: they end with the last request. */
  retire(): void {
    this.#isRetired = true;
    if (this.#underWay === 0) void this.close();
  }

  /** Ends them all, once; resolves when they are done or have had their time. */
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
