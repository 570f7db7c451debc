/**
 * Name look-ups that share the few threads that a process has for them. If a name server is silent,
 * the system retries for longer than anyone waits, and its thread cannot be interrupted: so each
 * name is looked up once at a time, however many wait for it, and of the slow names only one.
 */
import type { LookupAddress, LookupOptions } from "node:dns";
import { type RecentlyUsed, recentlyUsed } from "../base/recently-used.ts";

/** The signature of `node:dns`'s `lookup`. */
export type Resolve = (
  hostname: string,
  options: LookupOptions & { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

type Question = Parameters<Resolve>[1];
type Answer = Parameters<Resolve>[2];

/** Responsive name servers answer within this time. */
const SLOW_MS = 1_000;
const MAX_SLOW = 1_024;

/** Wraps a resolver so that look-ups are shared; `now` is in milliseconds. */
export function shareLookUps(
  resolve: Resolve,
  now: () => number = () => performance.now(),
): Resolve {
  const shared = new SharedLookUps(resolve, now);
  return (hostname, options, answer) => shared.ask(hostname, options, answer);
}

class SharedLookUps {
  readonly #resolve: Resolve;
  readonly #now: () => number;
  /** The callbacks that wait, by look-up. */
  readonly #asked = new Map<string, Answer[]>();
  /** The names whose last look-up was slow. */
  readonly #slow: RecentlyUsed<true> = recentlyUsed(MAX_SLOW);
  readonly #waiting: (() => void)[] = [];
  #isSlowUnderWay = false;

  constructor(resolve: Resolve, now: () => number) {
    this.#resolve = resolve;
    this.#now = now;
  }

  ask(hostname: string, options: Question, answer: Answer): void {
    const key = JSON.stringify([hostname, options]);
    const asked = this.#asked.get(key);
    if (asked !== undefined) {
      asked.push(answer);
      return;
    }
    this.#asked.set(key, [answer]);
    const begin = (onEnd?: () => void): void => this.#begin(key, { hostname, options, onEnd });
    if (!this.#slow.has(hostname)) begin();
    else {
      this.#waiting.push(() => begin(() => this.#nextSlow()));
      if (!this.#isSlowUnderWay) this.#nextSlow();
    }
  }

  #nextSlow(): void {
    const next = this.#waiting.shift();
    this.#isSlowUnderWay = next !== undefined;
    next?.();
  }

  #begin(key: string, { hostname, options, onEnd }: LookUp): void {
    const from = this.#now();
    this.#resolve(hostname, options, (error, found) => {
      if (this.#now() - from > SLOW_MS) this.#slow.set(hostname, true);
      else this.#slow.delete(hostname);
      const answers = this.#asked.get(key) ?? [];
      this.#asked.delete(key);
      onEnd?.();
      for (const answer of answers) answer(error, found);
    });
  }
}

interface LookUp {
  readonly hostname: string;
  readonly options: Question;
  readonly onEnd: (() => void) | undefined;
}
