/**
 * The chains with batches in flight: the tip after which the next record is already signed, and drafts that cannot
 * continue before the batches return. A chain that others move is slowed down for a while, with turns where the
 * store gives them, because signing ahead would be in vain.
 *
 *   state of chain    its next draft
 *   idle              proceeds
 *   in flight         ordered store: is signed after the tip; otherwise: is held until all batches return
 *   lost              is held until all batches return, and follows the drafts that came back
 *   raced, idle       proceeds, after its turn where the store gives turns
 *   raced, in flight  is held
 *
 * `send` puts a chain in flight, `lose` marks it as lost and raced, `fail` as lost; the last `receive` makes it
 * idle. It is no longer raced after enough consecutive wins.
 */
import type { RecordDraft } from "./record.ts";
import type { ChainHead } from "./record-store.ts";

interface Tip {
  /** The last record in flight. */
  head: ChainHead | undefined;
  /** The number of batches with records of the chain. */
  batches: number;
  /** True if the records in flight follow one that was not stored, so that they will come back. */
  isLost: boolean;
  /** Drafts that came back, in order. */
  readonly again: RecordDraft[];
  /** Drafts held behind those, in order. */
  readonly held: RecordDraft[];
}

/** A chain that others move too. */
interface Race {
  /** Consecutive losses. */
  losses: number;
  /** Wins left until records are signed ahead again. */
  toWin: number;
  /** `asked`: a turn was requested. `here`: the next batch may be sent. */
  turn: "none" | "asked" | "here";
  /** Drafts that wait for the turn, in order. */
  readonly waiting: RecordDraft[];
}

/** Consecutive wins after which a chain is no longer raced. */
const CALM_AFTER = 16;

/** The most races remembered; a forgotten one is detected again at its next loss. */
const MAX_RACES = 1_000;

export class ChainTips {
  /** True if records may be signed after others in flight. */
  readonly #isOrdered: boolean;
  /** Requests a turn; undefined if the store gives none. */
  readonly #askTurn: ((agentId: string, isLost: boolean) => void) | undefined;
  readonly #tips = new Map<string, Tip>();
  readonly #races = new Map<string, Race>();

  constructor(isOrdered: boolean, askTurn?: (agentId: string, isLost: boolean) => void) {
    this.#isOrdered = isOrdered;
    this.#askTurn = askTurn;
  }

  /** Returns the head for the next record; undefined if nothing of the chain is in flight. */
  get(agentId: string): Pick<Tip, "head"> | undefined {
    return this.#tips.get(agentId);
  }

  /** Returns the number of consecutive losses. */
  lossesOf(agentId: string): number {
    return this.#races.get(agentId)?.losses ?? 0;
  }

  /** Holds a draft whose chain cannot continue; returns false if it can. */
  hold(agentId: string, draft: RecordDraft): boolean {
    const tip = this.#tips.get(agentId);
    const race = this.#races.get(agentId);
    if (tip === undefined) return race !== undefined && this.#awaitTurn(agentId, race, draft);
    if (this.#isOrdered && !tip.isLost && race === undefined) return false;
    tip.held.push(draft);
    return true;
  }

  /** Starts this writer's turn at a chain. Returns the drafts that may proceed, in order. */
  takeTurn(agentId: string, isMoved: boolean): readonly RecordDraft[] {
    const race = this.#races.get(agentId);
    if (race === undefined) return [];
    race.turn = "here";
    if (isMoved) race.toWin = CALM_AFTER;
    return race.waiting.splice(0);
  }

  /** Marks a chain as raced. */
  race(agentId: string): Race {
    const race = this.#races.get(agentId) ?? { losses: 0, toWin: 0, turn: "none", waiting: [] };
    race.toWin = CALM_AFTER;
    this.#races.delete(agentId);
    this.#races.set(agentId, race);
    this.#forgetOldest();
    return race;
  }

  /** Notes another batch in flight; `head` is its last record of the chain. */
  send(agentId: string, head: ChainHead): void {
    const race = this.#races.get(agentId);
    if (race !== undefined) race.turn = "none";
    const tip = this.#tips.get(agentId);
    if (tip === undefined) {
      this.#tips.set(agentId, { head, batches: 1, isLost: false, again: [], held: [] });
      return;
    }
    tip.head = head;
    tip.batches += 1;
  }

  /** Takes a draft that must be signed again. */
  comeBack(agentId: string, draft: RecordDraft): void {
    this.#tips.get(agentId)?.again.push(draft);
  }

  /** Notes that a batch was not stored, so that those behind it will come back. */
  fail(agentId: string, head: ChainHead | undefined): void {
    const tip = this.#tips.get(agentId);
    if (tip === undefined) return;
    tip.isLost = true;
    tip.head = head;
  }

  /** Notes that another writer moved the chain to `head`, so that what is in flight will come back. */
  lose(agentId: string, head: ChainHead | undefined): void {
    this.fail(agentId, head);
    this.race(agentId).losses += 1;
  }

  /** Notes a returned batch. Returns the drafts that may proceed, in order; undefined while others are in flight. */
  receive(agentId: string): readonly RecordDraft[] | undefined {
    const tip = this.#tips.get(agentId);
    if (tip === undefined) return undefined;
    tip.batches -= 1;
    if (tip.batches > 0) return undefined;
    this.#tips.delete(agentId);
    if (!tip.isLost) this.#win(agentId);
    return [...tip.again, ...tip.held];
  }

  /** Holds a draft until its chain's turn; false if the turn is here, or there are none. */
  #awaitTurn(agentId: string, race: Race, draft: RecordDraft): boolean {
    if (this.#askTurn === undefined || race.turn === "here") return false;
    race.waiting.push(draft);
    if (race.turn === "none") {
      race.turn = "asked";
      this.#askTurn(agentId, race.losses > 0);
    }
    return true;
  }

  /** Forgets the oldest races beyond the bound, except those with waiting drafts. */
  #forgetOldest(): void {
    for (const [agentId, race] of this.#races) {
      if (this.#races.size <= MAX_RACES) return;
      if (race.waiting.length === 0) this.#races.delete(agentId);
    }
  }

  #win(agentId: string): void {
    const race = this.#races.get(agentId);
    if (race === undefined) return;
    race.losses = 0;
    race.toWin -= 1;
    if (race.toWin <= 0) this.#races.delete(agentId);
  }
}
