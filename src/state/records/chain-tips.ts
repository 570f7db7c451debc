/**
 * The chains that batches are under way of: where each will end once they are kept, upon which its
 * next record is signed already, and the drafts of chains that cannot go on before they have come
 * back. A chain that others have moved goes on slowly for a while, in turns with them where the
 * store gives turns: signing ahead would be in vain.
 *
 *   a chain is        its next draft
 *   at rest           goes
 *   under way         goes in an ordered store, signed upon the tip; is held in others until all batches are back
 *   lost              is held until all batches are back, and goes behind the drafts that came back
 *   raced, at rest    goes; where the store gives turns, once its turn has come
 *   raced, under way  is held
 *
 * `send` puts a chain under way, `lose` has it lost and raced, `fail` lost; with the last `receive` it is at rest.
 * It is raced no more once it was kept so often, one time after the other.
 */
import type { RecordDraft } from "./record.ts";
import type { ChainHead } from "./record-store.ts";

interface Tip {
  /** The last record that is under way. */
  head: ChainHead | undefined;
  /** How many batches have records of the chain. */
  batches: number;
  /** What is under way follows a record that is in no chain: all of it will come back. */
  isLost: boolean;
  /** What came back, in order. */
  readonly again: RecordDraft[];
  /** What comes behind all that, in order. */
  readonly held: RecordDraft[];
}

/** A chain that others move as well. */
interface Race {
  /** So often has it been lost, one time after the other. */
  losses: number;
  /** So many more have to be won before records are signed ahead again. */
  toWin: number;
  /** Where writers take turns: the next batch may go, or the turn was asked for. */
  turn: "none" | "asked" | "here";
  /** What comes with the turn, in order. */
  readonly waiting: RecordDraft[];
}

/** A chain that was lost is raced for until it was won so often, one time after the other. */
const CALM_AFTER = 16;

/** So many raced chains are remembered: one that is forgotten is found again when it is lost. */
const MAX_RACES = 1_000;

export class ChainTips {
  /** True where records may be signed ahead, upon what is under way. */
  readonly #isOrdered: boolean;
  /** Asks for a turn, where writers take turns. */
  readonly #askTurn: ((agentId: string, isLost: boolean) => void) | undefined;
  readonly #tips = new Map<string, Tip>();
  readonly #races = new Map<string, Race>();

  constructor(isOrdered: boolean, askTurn?: (agentId: string, isLost: boolean) => void) {
    this.#isOrdered = isOrdered;
    this.#askTurn = askTurn;
  }

  /** The head that the next record follows; undefined where nothing of the chain is under way. */
  get(agentId: string): Pick<Tip, "head"> | undefined {
    return this.#tips.get(agentId);
  }

  /** How often the chain has been lost, one time after the other. */
  lossesOf(agentId: string): number {
    return this.#races.get(agentId)?.losses ?? 0;
  }

  /** Holds a draft back whose chain cannot go on now; false: it can. */
  hold(agentId: string, draft: RecordDraft): boolean {
    const tip = this.#tips.get(agentId);
    const race = this.#races.get(agentId);
    if (tip === undefined) return race !== undefined && this.#awaitTurn(agentId, race, draft);
    if (this.#isOrdered && !tip.isLost && race === undefined) return false;
    tip.held.push(draft);
    return true;
  }

  /** The turn at a chain has come. Answers the drafts that can go on now, in order. */
  takeTurn(agentId: string, isMoved: boolean): readonly RecordDraft[] {
    const race = this.#races.get(agentId);
    if (race === undefined) return [];
    race.turn = "here";
    if (isMoved) race.toWin = CALM_AFTER;
    return race.waiting.splice(0);
  }

  /** Others move the chain as well. */
  race(agentId: string): Race {
    const race = this.#races.get(agentId) ?? { losses: 0, toWin: 0, turn: "none", waiting: [] };
    race.toWin = CALM_AFTER;
    this.#races.delete(agentId);
    this.#races.set(agentId, race);
    this.#forgetOldest();
    return race;
  }

  /** One more batch has records of the chain, of which this is the last. */
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

  /** Takes a draft that has to be signed again. */
  comeBack(agentId: string, draft: RecordDraft): void {
    this.#tips.get(agentId)?.again.push(draft);
  }

  /** Nothing of a batch was kept: what is under way behind it will come back. */
  fail(agentId: string, head: ChainHead | undefined): void {
    const tip = this.#tips.get(agentId);
    if (tip === undefined) return;
    tip.isLost = true;
    tip.head = head;
  }

  /** Another has moved the chain, which ends with this: what is under way will come back. */
  lose(agentId: string, head: ChainHead | undefined): void {
    this.fail(agentId, head);
    this.race(agentId).losses += 1;
  }

  /**
   * A batch has come back. Answers the drafts that can go on now, in order; undefined while others
   * are under way.
   */
  receive(agentId: string): readonly RecordDraft[] | undefined {
    const tip = this.#tips.get(agentId);
    if (tip === undefined) return undefined;
    tip.batches -= 1;
    if (tip.batches > 0) return undefined;
    this.#tips.delete(agentId);
    if (!tip.isLost) this.#win(agentId);
    return [...tip.again, ...tip.held];
  }

  /** Holds a draft back before the turn of its chain; false where it is here, or nobody takes turns. */
  #awaitTurn(agentId: string, race: Race, draft: RecordDraft): boolean {
    if (this.#askTurn === undefined || race.turn === "here") return false;
    race.waiting.push(draft);
    if (race.turn === "none") {
      race.turn = "asked";
      this.#askTurn(agentId, race.losses > 0);
    }
    return true;
  }

  /** Forgets the oldest races beyond the bound, but none with drafts that wait for its turn. */
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
