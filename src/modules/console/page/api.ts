/**
 * The daemon's side of the console: JSON over the session's cookie. Changes bring the token that
 * only this page knows; without a session the browser goes to the sign-in page.
 */

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

let csrf = "";

/** Asks who is signed in; the answer's token goes with every change from now on. */
export async function openSession(): Promise<Session> {
  const session = await get<Session>("/api/session");
  csrf = session.csrf;
  return session;
}

/** Reads something. @throws ApiError */
export function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return ask<T>(path, { headers: { Accept: "application/json" }, ...(signal && { signal }) });
}

/** Changes something. @throws ApiError */
export function post<T>(path: string, body: object): Promise<T> {
  return ask<T>(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf },
    body: JSON.stringify(body),
  });
}

/** Ends the session, and leaves the page. */
export async function signOut(): Promise<void> {
  await fetch("/sign-out", {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf },
    body: "{}",
  });
  location.assign("/sign-in");
}

async function ask<T>(path: string, init: RequestInit): Promise<T> {
  const response = await fetch(path, { ...init, cache: "no-store" }).catch(unreachable);
  const read = response.json() as Promise<unknown>;
  // The connection may end within an answer, and whoever asked may want it no more.
  const answer = await read.catch(response.ok ? unreachable : () => undefined);
  if (response.ok) return answer as T;
  if (response.status === 401) location.assign("/sign-in");
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
