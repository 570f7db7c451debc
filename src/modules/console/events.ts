/**
 * Server-sent events for onlookers: traffic samples, counts, and the number of waiting escalations. Nothing is queued:
 * a slow reader gets the newest sample once there is room, and the number that it missed.
 */
import type { FastifyReply } from "fastify";
import { Tally } from "../../base/tally.ts";
import type { Events } from "./console-api.ts";
import { ConsoleFault } from "./console-fault.ts";
import type { SignedIn } from "./sessions.ts";
import type { Traffic } from "./traffic.ts";

interface EventParts {
  readonly traffic: Traffic;
  /** Milliseconds between ticks. */
  readonly tickMs?: number;
  overview(): Promise<object>;
  waiting(): number;
  /** The number of changes to escalations so far. */
  changes(): number;
  /** True if a session is still valid; the check does not count as a use. */
  isStanding(signedIn: SignedIn): boolean;
  reportFault(error: unknown): void;
}

const TICK_MS = 500;
/** In ticks. */
const OVERVIEW_EVERY = 4;
const MAX_SAMPLE = 50;
const MAX_ONLOOKERS = 64;
/** One person's pages leave places for others. */
const MAX_PER_PERSON = 16;
/** Unread bytes beyond which an onlooker gets no further events. */
const MAX_BUFFERED = 65_536;

interface Onlooker {
  readonly response: FastifyReply["raw"];
  readonly signedIn: SignedIn;
  seen: number;
  /** The state of escalations that was last sent. */
  told: string | undefined;
}

/** `GET /api/events`: server-sent events. */
export function createEvents(parts: EventParts): Events {
  const onlookers = new Set<Onlooker>();
  const byPerson = new Tally();
  let timer: NodeJS.Timeout | undefined;
  let ticks = 0;
  const tick = async (): Promise<void> => {
    ticks += 1;
    for (const one of onlookers) if (!parts.isStanding(one.signedIn)) sendAway(one);
    const overview = ticks % OVERVIEW_EVERY === 1 ? await parts.overview() : undefined;
    const news = newsOf(parts, overview);
    for (const one of onlookers) tell(one, news);
  };
  const begin = (): void => {
    timer ??= setInterval(() => void tick().catch(parts.reportFault), parts.tickMs ?? TICK_MS);
    timer.unref();
  };
  const leave = (one: Onlooker): void => {
    onlookers.delete(one);
    byPerson.remove(one.signedIn.person.id);
    if (onlookers.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
  return {
    register: (app, admit) => {
      // A HEAD request would hold a stream open without ever sending an event.
      app.get("/api/events", { exposeHeadRoute: false }, (request, reply) => {
        const signedIn = admit(request, false);
        const { id } = signedIn.person;
        if (onlookers.size >= MAX_ONLOOKERS || byPerson.of(id) >= MAX_PER_PERSON) {
          throw new ConsoleFault(429, "too-many-onlookers", "too many pages are looking on");
        }
        const fields = { ...reply.getHeaders(), "content-type": "text/event-stream" };
        reply.hijack();
        const response = reply.raw;
        response.writeHead(200, fields as Record<string, string>);
        response.write(": news\n\n");
        const one = { response, signedIn, seen: parts.traffic.last, told: undefined };
        onlookers.add(one);
        byPerson.add(id);
        response.once("close", () => leave(one));
        begin();
        void tick().catch(parts.reportFault);
      });
    },
    close: () => {
      for (const { response } of onlookers) response.end();
    },
  };
}

/** The events of a tick, encoded once for all onlookers. */
interface News {
  readonly last: number;
  /** Changes whenever an escalation changes. */
  readonly state: string;
  readonly approvals: string;
  readonly overview: string | undefined;
  /** Encodes a sample of the traffic after a request number. */
  trafficAfter(seen: number): string;
}

function newsOf(parts: EventParts, overview: object | undefined): News {
  const { last } = parts.traffic;
  const waiting = parts.waiting();
  const samples = new Map<number, string>();
  return {
    ...{ last, state: `${waiting} ${parts.changes()}` },
    approvals: eventOf("approvals", { waiting }),
    overview: overview && eventOf("overview", overview),
    trafficAfter: (seen) => {
      const known = samples.get(seen);
      if (known !== undefined) return known;
      const entries = parts.traffic.list({ after: seen }, MAX_SAMPLE);
      const { epoch } = parts.traffic;
      const event = eventOf("traffic", { epoch, entries, skipped: last - seen - entries.length });
      samples.set(seen, event);
      return event;
    },
  };
}

/** Ends a stream, or destroys it if an earlier end is still unread. */
function sendAway({ response }: Onlooker): void {
  if (response.writableEnded) response.destroy();
  else response.end();
}

function tell(one: Onlooker, { last, state, approvals, overview, trafficAfter }: News): void {
  const { response } = one;
  if (response.writableEnded || response.writableLength > MAX_BUFFERED) return;
  let text = "";
  if (last > one.seen) text += trafficAfter(one.seen);
  if (state !== one.told) text += approvals;
  text += overview ?? "";
  one.seen = last;
  one.told = state;
  if (text !== "") response.write(text);
}

function eventOf(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
