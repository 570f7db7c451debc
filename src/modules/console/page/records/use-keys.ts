/** The server's signing keys beside those that are pinned in this browser. */

import type { ServerKey } from "../answers.ts";
import type { ApiError } from "../api.ts";
import { useEffect, useState } from "../preact.ts";
import { session } from "../session.ts";
import { useApi } from "../use-api.ts";
import { type PinnedKey, pinOf, readPins, writePins } from "./pins.ts";

/** The keys, and ways to change the pins. */
export interface Keys {
  readonly pins: readonly PinnedKey[];
  /** Keys of the server that are not pinned; undefined until they are known. */
  readonly offered: readonly PinnedKey[] | undefined;
  readonly error: ApiError | undefined;
  readonly pin: (key: PinnedKey) => void;
  readonly unpin: (key: PinnedKey) => void;
}

const CHANGED = "console:pins";

/** The keys; every part of the page sees a change at once. */
export function useKeys(): Keys {
  const serverId = session().server_id;
  const { data, error } = useApi<{ readonly keys: readonly ServerKey[] }>("/api/keys");
  const [served, setServed] = useState<readonly PinnedKey[] | undefined>(undefined);
  const [pins, setPins] = useState(() => readPins(serverId));
  useEffect(() => {
    const update = (): void => setPins(readPins(serverId));
    for (const name of [CHANGED, "storage"]) addEventListener(name, update);
    return () => {
      for (const name of [CHANGED, "storage"]) removeEventListener(name, update);
    };
  }, [serverId]);
  useEffect(() => {
    if (data === undefined) return;
    void Promise.all(data.keys.map(pinOf)).then((keys) => setServed(keys.filter(isThere)));
  }, [data]);
  const keep = (next: readonly PinnedKey[]): void => {
    writePins(serverId, next);
    dispatchEvent(new Event(CHANGED));
  };
  return {
    ...{ pins, error },
    offered: served?.filter((key) => !pins.some(({ x }) => x === key.x)),
    pin: (key) => keep([...readPins(serverId), { ...key, pinnedAt: new Date().toISOString() }]),
    unpin: ({ x }) => keep(readPins(serverId).filter((pin) => pin.x !== x)),
  };
}

function isThere(key: PinnedKey | undefined): key is PinnedKey {
  return key !== undefined;
}
