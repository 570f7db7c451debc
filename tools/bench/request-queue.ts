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

/** One of so many connections. */
interface Place {
  readonly index: number;
  readonly connections: number;
}

const parts = new WeakMap<readonly Buffer[], readonly (readonly Buffer[])[]>();

/** The requests of one connection: each n-th, so that where there is one for each, an agent stays on its own. */
function partOf(requests: readonly Buffer[], { index, connections }: Place): readonly Buffer[] {
  if (requests.length < connections) return requests;
  let known = parts.get(requests);
  if (known?.length !== connections) {
    known = Array.from({ length: connections }, (_, part) =>
      requests.filter((_request, at) => at % connections === part),
    );
    parts.set(requests, known);
  }
  return known[index % connections] ?? requests;
}

/** Takes a connection's requests in turn and around; where there are fewer than connections, each begins elsewhere. */
export function takeInTurn(
  requests: readonly Buffer[],
  atOnce: number,
  place: Place,
): (count: number) => Buffer {
  const { octets, starts } = queueOf(partOf(requests, place), atOnce);
  const length = starts.length - 1;
  const isShared = requests.length < place.connections;
  let turn = isShared ? Math.floor((place.index / place.connections) * length) : 0;
  return (count) => {
    if (turn + count > length) turn = 0;
    const from = turn;
    turn += count;
    return octets.subarray(starts[from], starts[turn]);
  };
}
