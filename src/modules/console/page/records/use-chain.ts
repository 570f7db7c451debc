/** The records of one chain for a list, page by page from the newest back. */
import type { ChainPage } from "../../answers.ts";
import { type ApiError, asApiError, get } from "../api.ts";
import { useCallback, useEffect, useRef, useState } from "../preact.ts";
import { address } from "../router.ts";
import { payloadOf } from "./examine-record.ts";

/** A record in the list, by its own claims; a list must hold a hundred thousand of them. */
export interface ListedRecord {
  /** Position from the newest, which is 0. */
  readonly place: number;
  readonly auditId: string;
  /** True if the journal lacks the record; later rows are older records that it still has. */
  readonly isMissing?: true;
  readonly issuedAt: string | null;
  readonly method: unknown;
  readonly path: unknown;
  readonly status: unknown;
}

/** The list loaded so far. */
interface ListedChain {
  readonly records: readonly ListedRecord[] | undefined;
  readonly error: ApiError | undefined;
  /** The record after the last one, if retention removed it. */
  readonly cut: ChainPage["cut"];
  /** The agent's name, if known. */
  readonly name: string | null;
  /** Requests older records, if there are any. */
  readonly more: () => void;
  /** Appends a page that another component fetched, if it continues the list. */
  readonly take: (page: ChainPage) => void;
}

/** The start of a page: a record, or, after a gap, the newest record older than another one. */
interface PageStart {
  readonly from?: string;
  readonly behind?: string;
}

/** Follows a chain back as far as requested. */
export function useChain(agentId: string): ListedChain {
  const [records, setRecords] = useState<readonly ListedRecord[] | undefined>(undefined);
  const [error, setError] = useState<ApiError | undefined>(undefined);
  const [cut, setCut] = useState<ChainPage["cut"]>(undefined);
  const [name, setName] = useState<string | null>(null);
  const way = useRef(new ChainWay());
  const isAsking = useRef(false);
  const append = useCallback((page: ChainPage, fresh: ChainPage["records"]) => {
    const { broken } = page;
    setError(undefined);
    setCut(page.cut);
    setName(page.name);
    setRecords((known = []) => [
      ...known,
      ...fresh.map((one, index) => listed(one, known.length + index)),
      ...(broken === undefined ? [] : [gap(broken.audit_id, known.length + fresh.length)]),
    ]);
  }, []);
  const take = useCallback(
    (page: ChainPage) => {
      const { from } = way.current.next ?? {};
      const at = from === undefined ? -1 : page.records.findIndex((one) => one.audit_id === from);
      if (at < 0) return;
      way.current.goOn(page);
      append(page, page.records.slice(at));
    },
    [append],
  );
  const more = useCallback(() => {
    const start = way.current.next;
    if (isAsking.current || start === undefined) return;
    isAsking.current = true;
    fetchChain(agentId, start)
      .then((page) => {
        // Another component may have fetched the page meanwhile.
        if (way.current.next !== start) return take(page);
        way.current.goOn(page);
        append(page, page.records);
      })
      .catch((fault: unknown) => setError(asApiError(fault)))
      .finally(() => {
        isAsking.current = false;
      });
  }, [agentId, append, take]);
  useEffect(more, [more]);
  return { records, error, cut, name, more, take };
}

/** Position in a chain, which moves page by page and across gaps. */
export class ChainWay {
  #next: PageStart | undefined = {};
  #last: string | undefined;
  /** Gaps already crossed, since a tampered journal may lead back to one. */
  readonly #crossed = new Set<string>();

  /** Start of the next page; undefined at the end. */
  get next(): PageStart | undefined {
    return this.#next;
  }

  goOn({ records, next, broken }: ChainPage): void {
    this.#last = records.at(-1)?.audit_id ?? this.#last;
    const behind = broken && (broken.behind ?? this.#last);
    if (next !== null) this.#next = { from: next };
    else if (behind === undefined || this.#crossed.has(behind)) this.#next = undefined;
    else {
      this.#crossed.add(behind);
      this.#next = { behind };
    }
  }
}

/** Fetches one page of a chain with `count` records. */
export function fetchChain(agentId: string, start: PageStart, count = 200): Promise<ChainPage> {
  const query = new URLSearchParams({ count: String(count), ...start });
  return get<ChainPage>(`/api${address("records", agentId)}?${query}`);
}

function listed({ audit_id, jws }: ChainPage["records"][number], place: number): ListedRecord {
  const { issued_at, method, path, status } = payloadOf(jws) ?? {};
  const issuedAt = typeof issued_at === "string" ? issued_at : null;
  return { place, auditId: audit_id, issuedAt, method, path, status };
}

function gap(auditId: string, place: number): ListedRecord {
  const nothing = { issuedAt: null, method: undefined, path: undefined, status: undefined };
  return { place, auditId, isMissing: true, ...nothing };
}
