/** How often others have their turn while something is done. */

/** Counts the turns of the event loop until it is stopped. */
interface TurnCount {
  readonly turns: number;
  stop(): void;
}

/** Counts from now on. */
export function countTurns(): TurnCount {
  let turns = 0;
  let isOver = false;
  const next = (): void => {
    turns += 1;
    if (!isOver) setImmediate(next);
  };
  setImmediate(next);
  return {
    get turns() {
      return turns;
    },
    stop: () => {
      isOver = true;
    },
  };
}
