/** The records of one chain as the page lists them: page after page, from the newest back. */
import type { ChainPage } from "../../answers.ts";
import { type ApiError, asApiError, get } from "../api.ts";
import { useCallback, useEffect, useRef, useState } from "../preact.ts";
import { address } from "../router.ts";
import { payloadOf } from "./examine-record.ts";

/** A record in the list, as it says of itself; a hundred thousand of them have to fit. */
export interface ListedRecord {
  /** Its place, from the newest, which is 0. */
  readonly place: number;
  readonly auditId: string;
  /** The record is not in the journal: behind it stands what the journal has all the same. */
  readonly isMissing?: true;
  readonly issuedAt: string | null;
  readonly method: unknown;
  readonly path: unknown;
  readonly status: unknown;
}

/** The list so far. */
interface ListedChain {
  readonly records: readonly ListedRecord[] | undefined;
  readonly error: ApiError | undefined;
  /** The record behind the last one, which retention took away. */
  readonly cut: ChainPage["cut"];
  /** The agent's name, where it is known. */
  readonly name: string | null;
  /** Asks for older ones, if there are any. */
  readonly more: () => void;
  /** Takes what somebody else has asked for, as far as it goes on where the list ends. */
  readonly take: (page: ChainPage) => void;
}

/** Where a page begins: at a record, or behind a gap at the newest record before another one. */
interface PageStart {
  readonly from?: string;
  readonly behind?: string;
}

/** Follows a chain back as far as it is asked to. */
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
        // Somebody else may have brought it meanwhile.
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

/** The way through a chain, page by page and over its gaps. */
export class ChainWay {
  #next: PageStart | undefined = {};
  #last: string | undefined;
  /** A journal that somebody changed may lead back to a gap; it is crossed once. */
  readonly #crossed = new Set<string>();

  /** The next page; undefined at the end. */
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

/** One page of a chain, of so many records. */
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
