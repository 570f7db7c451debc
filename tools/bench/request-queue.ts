/** The requests of a load, put together beforehand: to send several at once costs no more than one. */

/** Requests behind each other, so that neighbours are one range of octets. */
interface Queue {
  readonly octets: Buffer;
  /** Where each begins, and where the last ends. */
  readonly starts: readonly number[];
}

const queues = new WeakMap<readonly Buffer[], Map<number, Queue>>();

/** The queue of some requests, repeated until so many can be taken at once; made once for all connections. */
function queueOf(requests: readonly Buffer[], atOnce: number): Queue {
  const known = queues.get(requests) ?? new Map<number, Queue>();
  queues.set(requests, known);
  const before = known.get(atOnce);
  if (before !== undefined) return before;
  const times = Math.ceil(atOnce / requests.length);
  const all = Array.from({ length: times }, () => requests).flat();
  const starts = [0];
  for (const { length } of all) starts.push((starts.at(-1) ?? 0) + length);
  const queue = { octets: Buffer.concat(all), starts };
  known.set(atOnce, queue);
  return queue;
}

/** Takes requests in turn and around, beginning at a share of them. */
export function takeInTurn(
  requests: readonly Buffer[],
  atOnce: number,
  share: number,
): (count: number) => Buffer {
  const { octets, starts } = queueOf(requests, atOnce);
  const length = starts.length - 1;
  let turn = Math.floor(share * length);
  return (count) => {
    if (turn + count > length) turn = 0;
    const from = turn;
    turn += count;
    return octets.subarray(starts[from], starts[turn]);
  };
}
