/** An answer of the daemon as a part of the page: on its way, here, or refused. */
import { ApiError, get } from "./api.ts";
import { useCallback, useEffect, useState } from "./preact.ts";

/** An answer, and a way to ask again. */
export interface Answer<T> {
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
  readonly reload: () => void;
}

interface Known<T> {
  readonly path: string;
  readonly data?: T;
  readonly error?: ApiError;
}

/** Asks once for each address, and again by `reload`; a late answer to an earlier one is dropped. */
export function useApi<T>(path: string): Answer<T> {
  const [known, setKnown] = useState<Known<T>>({ path });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    get<T>(path, abort.signal).then(
      (data) => setKnown({ path, data }),
      (error: unknown) => {
        if (!abort.signal.aborted) setKnown({ path, error: asApiError(error) });
      },
    );
    return () => abort.abort();
  }, [path, round]);
  const reload = useCallback(() => setRound((count) => count + 1), []);
  const current = known.path === path ? known : { path };
  return { data: current.data, error: current.error, reload };
}

/** Any fault as one that can be shown. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(0, "failed", error instanceof Error ? error.message : String(error));
}
