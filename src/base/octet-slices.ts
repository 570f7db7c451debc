/**
 * Slices of received bodies, with a turn for everybody else between two of them, whatever reading
 * one costs.
 */
import { setImmediate as nextTurn } from "node:timers/promises";

const SLICE_BYTES = 4096;
/** The time for processing short chunks before others get a turn. */
const TURN_MS = 4;

/** Yields a body in slices; the caller processes each before it takes the next. */
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
