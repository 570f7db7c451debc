/** Listens to channels of `node:diagnostics_channel`, by their names. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";

/** Begins to listen; answers how to end it. */
export function listenTo(
  listeners: Readonly<Record<string, (message: never) => void>>,
): () => void {
  const entries = Object.entries(listeners) as [string, (message: unknown) => void][];
  for (const [name, listener] of entries) subscribe(name, listener);
  return () => {
    for (const [name, listener] of entries) unsubscribe(name, listener);
  };
}
