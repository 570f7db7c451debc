/**
 * Stops a socket that is to be handed to another process: Node begins to read from one as soon as it has
 * received it, and what it has read would be lost. No call of `node:net` stops it at once.
 */
import type { Socket } from "node:net";

interface ReadingHandle {
  reading: boolean;
  readStop(): number;
}

/** In the turn of the loop that it was received in. */
export function stopReading(socket: Socket): void {
  const { _handle: handle } = socket as unknown as { readonly _handle?: ReadingHandle | null };
  if (handle == null) return;
  handle.reading = false;
  handle.readStop();
}
