/** The records of one chain as the page lists them: page after page, from the newest back. */

import type { ChainPage } from "../answers.ts";
import { type ApiError, get } from "../api.ts";
import { useCallback, useEffect, useRef, useState } from "../preact.ts";
import { address } from "../router.ts";
import { asApiError } from "../use-api.ts";
import { decodeRecord } from "./decode-record.ts";

/** A record in the list; its members are what it says of itself. */
export interface ListedRecord {
  readonly auditId: string;
  readonly jws: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** The list so far. */
export interface ListedChain {
  readonly records: readonly ListedRecord[] | undefined;
  readonly error: ApiError | undefined;
  /** The record that is not there, behind the last one in the list. */
  readonly broken: ChainPage["broken"];
  /** Asks for older ones, if there are any. */
  readonly more: () => void;
}

/** Follows a chain back as far as it is asked to. */
export function useChain(agentId: string): ListedChain {
  const [records, setRecords] = useState<readonly ListedRecord[] | undefined>(undefined);
  const [error, setError] = useState<ApiError | undefined>(undefined);
  const [broken, setBroken] = useState<ChainPage["broken"]>(undefined);
  const next = useRef<string | null | undefined>(undefined);
  const isAsking = useRef(false);
  const more = useCallback(() => {
    if (isAsking.current || next.current === null) return;
    isAsking.current = true;
    fetchChain(agentId, next.current)
      .then((page) => {
        next.current = page.next;
        setBroken(page.broken);
        setRecords((known = []) => [...known, ...page.records.map(listed)]);
      })
      .catch((fault: unknown) => setError(asApiError(fault)))
      .finally(() => {
        isAsking.current = false;
      });
  }, [agentId]);
  useEffect(more, [more]);
  return { records, error, broken, more };
}

/** One page of a chain. */
export function fetchChain(agentId: string, from: string | undefined): Promise<ChainPage> {
  const query = from === undefined ? "" : `?from=${encodeURIComponent(from)}`;
  return get<ChainPage>(`/api${address("records", agentId)}${query}`);
}

function listed({ audit_id, jws }: ChainPage["records"][number]): ListedRecord {
  return { auditId: audit_id, jws, payload: decodeRecord(jws)?.payload ?? {} };
}
