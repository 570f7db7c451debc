/**
 * The daemon's side of the console: JSON over the session's cookie. Changes bring the token that
 * only this page knows; without a session the browser goes to the sign-in page.
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

/** The person who is signed in. */
export interface Session {
  readonly id: string;
  readonly name: string;
  readonly role: "viewer" | "operator";
  readonly csrf: string;
  readonly server_id: string;
  readonly version: string;
  /** The person approves with a passkey. */
  readonly has_passkey: boolean;
  /** The daemon was not started: its records can be looked at, and nothing else. */
  readonly inspect_only: boolean;
}

/** Reads something. @throws ApiError */
export function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return ask<T>(path, { headers: { Accept: "application/json" }, ...(signal && { signal }) });
}

/** Changes something, in the name of the person whom the page shows. @throws ApiError */
export async function post<T>(path: string, body: object): Promise<T> {
  try {
    return await ask<T>(path, changing(body));
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== "csrf-token") throw error;
  }
  // Somebody has signed in anew in another tab.
  const fault = await renewSession();
  if (fault !== undefined) throw new ApiError(403, "page-outdated", fault);
  return ask<T>(path, changing(body));
}

/** A change carries the token of the session. */
function changing(body: object, csrf: string = session().csrf): RequestInit {
  const headers = { "Content-Type": "application/json", "X-CSRF-Token": csrf };
  return { method: "POST", headers, body: JSON.stringify(body) };
}

/** Ends the session that this browser has, whoever began it, and leaves the page. @throws ApiError */
export async function signOut(): Promise<void> {
  const { csrf } = await get<Session>("/api/session");
  const response = await fetch("/sign-out", changing({}, csrf)).catch(unreachable);
  if (!response.ok) throw errorOf(response.status, await response.json().catch(() => undefined));
  // The drafts of its person.
  sessionStorage.clear();
  location.assign("/sign-in");
}

async function ask<T>(path: string, init: RequestInit): Promise<T> {
  const response = await fetch(path, { ...init, cache: "no-store" }).catch(unreachable);
  const read = response.json() as Promise<unknown>;
  // The connection may end within an answer, and whoever asked may want it no more.
  const answer = await read.catch(response.ok ? unreachable : () => undefined);
  if (response.ok) return answer as T;
  // The page leads to the sign-in itself, and is come back to from there.
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

/** Remembers who is signed in; called once, before any page is drawn. */
export function rememberSession(session: Session): void {
  current = session;
}

/**
 * Looks whether the session is still the one that the page was drawn for; why not, in words for the person.
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

/** Tells whether the person may change anything. */
export function isOperator(): boolean {
  return current?.role === "operator";
}

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

/** A question that takes longer is given up for the next one: a connection may be lost without a word. */
const PATIENCE_MS = 10_000;

interface Question {
  readonly since: number;
  /** It is to be asked once more when it is answered. */
  isRepeated: boolean;
}

/**
 * Asks once for each address, and again by `reload`; a late answer to an earlier one is dropped. One that is on
 * its way is waited for first: news may come faster than answers do.
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
          // The old answer stays, unless the thing is gone.
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

/** Any fault as one that can be shown. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(0, "failed", error instanceof Error ? error.message : String(error));
}
