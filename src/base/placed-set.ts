/**
 * A set of objects that come and go all the time, each of which knows its place. V8 has each table of a Set
 * that grew or shrank name the next one: one that came to the old generation keeps all later ones, with
 * what is in them, until that is collected. An array names nobody. Its order is no order.
 */

/** The members' part. */
export interface Placed {
  /** Kept by the set that it is in; minus one before and after. */
  place: number;
}

export class PlacedSet<Member extends Placed> implements Iterable<Member> {
  readonly #members: Member[] = [];

  get size(): number {
    return this.#members.length;
  }

  /** Takes in what is in no set. */
  add(member: Member): void {
    member.place = this.#members.push(member) - 1;
  }

  /** Lets a member go; what is not in this set stays where it is. */
  delete(member: Member): void {
    const { place } = member;
    if (this.#members[place] !== member) return;
    const last = this.#members.pop();
    if (last !== undefined && last !== member) {
      this.#members[place] = last;
      last.place = place;
    }
    member.place = -1;
  }

  /** Those that are in it now, whoever comes and goes meanwhile. */
  [Symbol.iterator](): Iterator<Member> {
    return [...this.#members].values();
  }
}
