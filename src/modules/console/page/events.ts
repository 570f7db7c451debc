/**
 * The daemon's events, over one stream for the whole page. It is open while somebody listens and the
 * page can be seen; a stream that the daemon has ended is asked for again after a while.
 */
import type { Overview, TrafficAnswer } from "../answers.ts";
import { get } from "./api.ts";
import { useEffect, useRef } from "./preact.ts";

interface EventKinds {
  /** The stream begins, or begins again: it does not tell what came before. */
  readonly open: undefined;
  /** False once nothing has come for a while: what is shown gets old. True with the next that comes. */
  readonly heard: boolean;
  readonly traffic: TrafficAnswer & { readonly skipped: number };
  readonly overview: Overview;
  readonly approvals: { readonly waiting: number };
}

type Listener = (data: never) => void;

const NAMES = ["traffic", "overview", "approvals"] as const;
const RETRY_MS = 5000;
/** The daemon has something to say every two seconds; a browser whose stream has ended asks again after three. */
const SILENCE_MS = 8000;

const listeners = new Map<string, Set<Listener>>();
let stream: EventSource | undefined;
let retry: ReturnType<typeof setTimeout> | undefined;
let silence: ReturnType<typeof setTimeout> | undefined;
let isSilent = false;

/** Calls with every event of a kind while the part of the page is there. */
export function useEvents<K extends keyof EventKinds>(
  kind: K,
  listener: (data: EventKinds[K]) => void,
): void {
  const latest = useRef(listener);
  latest.current = listener;
  useEffect(() => listen(kind, (data: EventKinds[K]) => latest.current(data)), [kind]);
}

function listen<K extends keyof EventKinds>(
  kind: K,
  listener: (data: EventKinds[K]) => void,
): () => void {
  const set = listeners.get(kind) ?? new Set<Listener>();
  listeners.set(kind, set.add(listener as Listener));
  document.addEventListener("visibilitychange", adjust);
  adjust();
  return () => {
    set.delete(listener as Listener);
    adjust();
  };
}

/** Opens or closes the stream, as it is needed. */
function adjust(): void {
  const isWanted = !document.hidden && [...listeners.values()].some(({ size }) => size > 0);
  if (isWanted && stream === undefined) open();
  else if (!isWanted) {
    clearTimeout(silence);
    silence = undefined;
    close();
  }
}

function open(): void {
  clearTimeout(retry);
  const opened = new EventSource("/api/events");
  stream = opened;
  listenOn();
  for (const name of NAMES) {
    opened.addEventListener(name, (event) => {
      hear();
      tell(name, JSON.parse(event.data));
    });
  }
  opened.addEventListener("open", () => {
    hear();
    tell("open", undefined);
  });
  opened.addEventListener("error", () => {
    if (opened.readyState !== EventSource.CLOSED || stream !== opened) return;
    close();
    // Where the session is over, this question leads to the sign-in page.
    get("/api/session").catch(() => undefined);
    retry = setTimeout(adjust, RETRY_MS);
  });
}

function tell(name: keyof EventKinds, data: unknown): void {
  for (const listener of listeners.get(name) ?? []) listener(data as never);
}

function hear(): void {
  clearTimeout(silence);
  silence = undefined;
  listenOn();
  if (isSilent) tell("heard", true);
  isSilent = false;
}

/** Waits for the next that comes, as long as it may take. */
function listenOn(): void {
  silence ??= setTimeout(() => {
    isSilent = true;
    tell("heard", false);
  }, SILENCE_MS);
}

function close(): void {
  clearTimeout(retry);
  stream?.close();
  stream = undefined;
}
