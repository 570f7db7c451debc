/** The records of one chain as the page lists them: page after page, from the newest back. */

import type { ChainPage } from "../answers.ts";
import { type ApiError, get } from "../api.ts";
import { useCallback, useEffect, useRef, useState } from "../preact.ts";
import { address } from "../router.ts";
import { asApiError } from "../use-api.ts";
import { decodeRecord } from "./decode-record.ts";

/** A record in the list, as it says of itself; a hundred thousand of them have to fit. */
export interface ListedRecord {
  /** Its place, from the newest, which is 0. */
  readonly place: number;
  readonly auditId: string;
  readonly issuedAt: string | null;
  readonly method: unknown;
  readonly path: unknown;
  readonly status: unknown;
}

/** The list so far. */
export interface ListedChain {
  readonly records: readonly ListedRecord[] | undefined;
  readonly error: ApiError | undefined;
  /** The record that is not there, behind the last one in the list. */
  readonly broken: ChainPage["broken"];
  /** The record behind the last one, which retention took away. */
  readonly cut: ChainPage["cut"];
  /** Of the agent, where it is known. */
  readonly name: string | null;
  /** Asks for older ones, if there are any. */
  readonly more: () => void;
  /** Takes what somebody else has asked for, as far as it goes on where the list ends. */
  readonly take: (page: ChainPage) => void;
}

/** Follows a chain back as far as it is asked to. */
export function useChain(agentId: string): ListedChain {
  const [records, setRecords] = useState<readonly ListedRecord[] | undefined>(undefined);
  const [error, setError] = useState<ApiError | undefined>(undefined);
  const [broken, setBroken] = useState<ChainPage["broken"]>(undefined);
  const [cut, setCut] = useState<ChainPage["cut"]>(undefined);
  const [name, setName] = useState<string | null>(null);
  const next = useRef<string | null | undefined>(undefined);
  const isAsking = useRef(false);
  const take = useCallback((page: ChainPage) => {
    const from = next.current;
    const at = from === undefined ? 0 : page.records.findIndex((one) => one.audit_id === from);
    if (at < 0 || from === null) return;
    const fresh = page.records.slice(at);
    next.current = page.next;
    setBroken(page.broken);
    setCut(page.cut);
    setName(page.name);
    setRecords((known = []) => [
      ...known,
      ...fresh.map((one, index) => listed(one, known.length + index)),
    ]);
  }, []);
  const more = useCallback(() => {
    if (isAsking.current || next.current === null) return;
    isAsking.current = true;
    fetchChain(agentId, next.current)
      .then(take)
      .catch((fault: unknown) => setError(asApiError(fault)))
      .finally(() => {
        isAsking.current = false;
      });
  }, [agentId, take]);
  useEffect(more, [more]);
  return { records, error, broken, cut, name, more, take };
}

/** One page of a chain, of so many records. */
export function fetchChain(agentId: string, from?: string, count = 200): Promise<ChainPage> {
  const query = new URLSearchParams({ count: String(count), ...(from && { from }) });
  return get<ChainPage>(`/api${address("records", agentId)}?${query}`);
}

function listed({ audit_id, jws }: ChainPage["records"][number], place: number): ListedRecord {
  const { issued_at, method, path, status } = decodeRecord(jws)?.payload ?? {};
  const issuedAt = typeof issued_at === "string" ? issued_at : null;
  return { place, auditId: audit_id, issuedAt, method, path, status };
}
