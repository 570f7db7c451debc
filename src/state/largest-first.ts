/**
 * A heap of things ordered by a changing size, largest first, so that updates and lookups stay fast for large
 * numbers.
 */

/** Negative if the first thing sorts before the other; never 0 for two different things. */
type Compare<Thing> = (one: Thing, other: Thing) => number;

export class LargestFirst<Thing> {
  readonly #compare: Compare<Thing>;
  readonly #heap: Thing[] = [];
  readonly #places = new Map<Thing, number>();

  constructor(compare: Compare<Thing>) {
    this.#compare = compare;
  }

  /** Adds a thing, or repositions it after a change. */
  set(thing: Thing): void {
    const place = this.#places.get(thing) ?? this.#heap.length;
    this.#put(thing, place);
    this.#settle(place);
  }

  delete(thing: Thing): void {
    const place = this.#places.get(thing);
    if (place === undefined) return;
    this.#places.delete(thing);
    const last = this.#heap.pop() as Thing;
    if (last === thing) return;
    this.#put(last, place);
    this.#settle(place);
  }

  /** Iterates lazily, largest first; nothing may change before the caller stops. */
  *[Symbol.iterator](): Iterator<Thing> {
    const inOrder: Compare<number> = (one, other) => this.#compare(this.#at(one), this.#at(other));
    const next = new LargestFirst<number>(inOrder);
    if (this.#heap.length > 0) next.set(0);
    for (let place = next.#heap[0]; place !== undefined; place = next.#heap[0]) {
      yield this.#at(place);
      next.delete(place);
      for (const below of this.#below(place)) next.set(below);
    }
  }

  #at(place: number): Thing {
    return this.#heap[place] as Thing;
  }

  #put(thing: Thing, place: number): void {
    this.#heap[place] = thing;
    this.#places.set(thing, place);
  }

  #below(place: number): readonly number[] {
    const first = 2 * place + 1;
    return [first, first + 1].filter((below) => below < this.#heap.length);
  }

  /** Moves the thing at a place up or down to its position. */
  #settle(from: number): void {
    const thing = this.#at(from);
    let place = from;
    while (place > 0) {
      const above = (place - 1) >> 1;
      if (this.#compare(this.#at(above), thing) < 0) break;
      this.#put(this.#at(above), place);
      place = above;
    }
    for (;;) {
      const first = 2 * place + 1;
      if (first >= this.#heap.length) break;
      const isSecond =
        first + 1 < this.#heap.length && this.#compare(this.#at(first + 1), this.#at(first)) < 0;
      const below = isSecond ? first + 1 : first;
      if (this.#compare(thing, this.#at(below)) < 0) break;
      this.#put(this.#at(below), place);
      place = below;
    }
    this.#put(thing, place);
  }
}
