/**
 * The page's API client: JSON under the session's cookie. Changes carry the CSRF token; without a session the browser
 * goes to the sign-in page.
 */
import { useCallback, useEffect, useRef, useState } from "./preact.ts";

/** A request that the daemon refused, or that did not reach it. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
  }
}

/** The signed-in person and their session. */
export interface Session {
  readonly id: string;
  readonly name: string;
  readonly role: "viewer" | "operator";
  readonly csrf: string;
  readonly server_id: string;
  readonly version: string;
  /** True if the person approves with a passkey. */
  readonly has_passkey: boolean;
  /** True if the daemon did not start, so that only records can be read. */
  readonly inspect_only: boolean;
}

/** Sends a GET. @throws ApiError */
export function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return ask<T>(path, { headers: { Accept: "application/json" }, ...(signal && { signal }) });
}

/** Sends a change in the name of the person whom the page shows. @throws ApiError */
export async function post<T>(path: string, body: object): Promise<T> {
  try {
    return await ask<T>(path, changing(body));
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== "csrf-token") throw error;
  }
  // The session was replaced by a sign-in in another tab.
  const fault = await renewSession();
  if (fault !== undefined) throw new ApiError(403, "page-outdated", fault);
  return ask<T>(path, changing(body));
}

/** A POST with the session's CSRF token. */
function changing(body: object, csrf: string = session().csrf): RequestInit {
  const headers = { "Content-Type": "application/json", "X-CSRF-Token": csrf };
  return { method: "POST", headers, body: JSON.stringify(body) };
}

/** Ends the browser's current session, also one begun in another tab, and leaves the page. @throws ApiError */
export async function signOut(): Promise<void> {
  const { csrf } = await get<Session>("/api/session");
  const response = await fetch("/sign-out", changing({}, csrf)).catch(unreachable);
  if (!response.ok) throw errorOf(response.status, await response.json().catch(() => undefined));
  // The tab holds the person's drafts.
  sessionStorage.clear();
  location.assign("/sign-in");
}

async function ask<T>(path: string, init: RequestInit): Promise<T> {
  const response = await fetch(path, { ...init, cache: "no-store" }).catch(unreachable);
  const read = response.json() as Promise<unknown>;
  // The connection may end within a response, and the caller may have aborted.
  const answer = await read.catch(response.ok ? unreachable : () => undefined);
  if (response.ok) return answer as T;
  // Reloading leads to the sign-in page, which leads back here.
  if (response.status === 401) location.reload();
  throw errorOf(response.status, answer);
}

function unreachable(error: unknown): never {
  if (error instanceof DOMException && error.name === "AbortError") throw error;
  throw new ApiError(0, "unreachable", "the daemon cannot be reached");
}

function errorOf(status: number, answer: unknown): ApiError {
  const { error } = (answer ?? {}) as { error?: { code?: unknown; message?: unknown } };
  const { code = "failed", message = `the daemon answered ${status}` } = error ?? {};
  return new ApiError(status, String(code), String(message));
}

let current: Session | undefined;

/** Stores the session; called once, before any page is drawn. */
export function rememberSession(session: Session): void {
  current = session;
}

/**
 * Fetches the session anew. Returns a message if its person or role differs from the page's, otherwise undefined.
 * @throws ApiError
 */
export async function renewSession(): Promise<string | undefined> {
  const [before, now] = [session(), await get<Session>("/api/session")];
  if (now.id !== before.id || now.role !== before.role) {
    return `You are signed in as ${now.name}, ${now.role}, by now.`;
  }
  current = { ...before, csrf: now.csrf };
  return now.version === before.version && now.inspect_only === before.inspect_only
    ? undefined
    : "The daemon was started anew since this page was opened, in another version or another way.";
}

/** The signed-in person. */
export function session(): Session {
  if (current === undefined) throw new Error("nobody is signed in yet");
  return current;
}

/** True if the person may change anything. */
export function isOperator(): boolean {
  return current?.role === "operator";
}

/** The state of a request: its result, its fault, and a function to repeat it. */
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

/** A request pending longer is abandoned for the next one, since a connection may be lost silently. */
const PATIENCE_MS = 10_000;

interface Question {
  readonly since: number;
  /** True if it must be repeated once it is answered. */
  isRepeated: boolean;
}

/**
 * Fetches once for each address, and again on `reload`; a late response for an earlier address is dropped. A reload
 * waits for a pending request, since events may arrive faster than responses.
 */
export function useApi<T>(path: string): Answer<T> {
  const [known, setKnown] = useState<Known<T>>({ path });
  const [round, setRound] = useState(0);
  const underWay = useRef<Question | undefined>(undefined);
  useEffect(() => {
    const abort = new AbortController();
    const question: Question = { since: Date.now(), isRepeated: false };
    underWay.current = question;
    get<T>(path, abort.signal)
      .then(
        (data) => setKnown({ path, data }),
        (fault: unknown) => {
          const error = asApiError(fault);
          if (abort.signal.aborted) return;
          // The old data stays, unless it no longer exists.
          setKnown((before) =>
            before.path === path && error.status !== 404 ? { ...before, error } : { path, error },
          );
        },
      )
      .finally(() => {
        if (underWay.current !== question) return;
        underWay.current = undefined;
        if (question.isRepeated) setRound((count) => count + 1);
      });
    return () => abort.abort();
  }, [path, round]);
  const reload = useCallback(() => {
    const question = underWay.current;
    const isOld = question !== undefined && Date.now() - question.since >= PATIENCE_MS;
    if (question === undefined || isOld) setRound((count) => count + 1);
    else question.isRepeated = true;
  }, []);
  const current = known.path === path ? known : { path };
  return { data: current.data, error: current.error, reload };
}

/** Converts any error to one that a page can show. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(0, "failed", error instanceof Error ? error.message : String(error));
}
