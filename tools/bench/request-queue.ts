/** The requests of a load, concatenated beforehand: sending several costs one write. */

/** Concatenated requests, so that consecutive ones are one range of octets. */
interface Queue {
  readonly octets: Buffer;
  /** The offset of each request, and the end of the last. */
  readonly starts: readonly number[];
}

const queues = new WeakMap<readonly Buffer[], Map<number, Queue>>();

/** The queue of some requests, repeated to hold at least `atOnce`; shared by the connections. */
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

/** The index of a connection among several. */
interface Place {
  readonly index: number;
  readonly connections: number;
}

const parts = new WeakMap<readonly Buffer[], readonly (readonly Buffer[])[]>();

/** The requests of one connection: every nth, so that with one request per agent each agent keeps its connection. */
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

/** Takes a connection's requests cyclically; with fewer requests than connections, each starts at another offset. */
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
