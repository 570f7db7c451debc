/**
 * Rates by the minute of which a payer has one account, whichever process of the server it asks: what
 * one has given is counted by the others a moment later. Payers are known to them by a hash alone.
 */
import { hash } from "node:crypto";

/** One account that has given something. */
export interface MinuteTaking {
  /** A hash of the rate's name and the payer. */
  readonly account: string;
  readonly count: number;
}

/** A rate that is kept here. */
export interface MinuteRate {
  /** Counts what other processes have given to an account. */
  add(account: string, count: number): void;
}

/** Tells the other processes. */
export type TellTaking = (taking: MinuteTaking) => void;

export class MinuteRates {
  readonly #rates: MinuteRate[] = [];
  #tell: TellTaking = () => undefined;

  /** Counts a rate over all processes; the result is called with each taking. */
  join(rate: MinuteRate): TellTaking {
    this.#rates.push(rate);
    return (taking) => this.#tell(taking);
  }

  /** Tells of every taking from now on. */
  share(tell: TellTaking): void {
    this.#tell = tell;
  }

  /** Counts a taking from another process: an account is of one rate alone. */
  add({ account, count }: MinuteTaking): void {
    for (const rate of this.#rates) rate.add(account, count);
  }
}

/** The account of a payer; `rate` is unique among those that are joined. */
export function minuteAccount(rate: string, ...payer: readonly string[]): string {
  return hash("sha256", JSON.stringify([rate, ...payer])).slice(0, 32);
}
