/** Slices of what others send: everybody has a turn between two, whatever it costs to read one. */
import { setImmediate as nextTurn } from "node:timers/promises";

const SLICE_BYTES = 4096;
/** The time that may be spent on short chunks before others have their turn. */
const TURN_MS = 4;

/** The octets of a body in their order; whoever takes a slice does its work on it before the next. */
export async function* octetSlices(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let from = performance.now();
  for await (const chunk of body) {
    for (let at = 0; at < chunk.length; at += SLICE_BYTES) {
      if (at > 0 || performance.now() - from > TURN_MS) {
        await nextTurn();
        from = performance.now();
      }
      yield chunk.subarray(at, at + SLICE_BYTES);
    }
  }
}
