/**
 * The daemon's events over one stream for the whole page. It is open while there are listeners and the page is
 * visible; a stream that the daemon ended is reopened after a while.
 */
import type { Overview, TrafficAnswer } from "../answers.ts";
import { get } from "./api.ts";
import { useEffect, useRef } from "./preact.ts";

interface EventKinds {
  /** The stream opens or reopens; earlier events are not repeated. */
  readonly open: undefined;
  /** False once no event has come for a while, so that the page is getting stale; true with the next event. */
  readonly heard: boolean;
  readonly traffic: TrafficAnswer & { readonly skipped: number };
  readonly overview: Overview;
  readonly approvals: { readonly waiting: number };
}

type Listener = (data: never) => void;

const NAMES = ["traffic", "overview", "approvals"] as const;
const RETRY_MS = 5000;
/** The daemon sends an event every two seconds; an ended stream is reopened after three. */
const SILENCE_MS = 8000;

const listeners = new Map<string, Set<Listener>>();
let stream: EventSource | undefined;
let retry: ReturnType<typeof setTimeout> | undefined;
let silence: ReturnType<typeof setTimeout> | undefined;
let isSilent = false;

/** Calls the listener with every event of a kind while the component is mounted. */
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

/** Opens or closes the stream as needed. */
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
    // If the session is over, this request leads to the sign-in page.
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

/** Starts the timer that reports silence. */
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
