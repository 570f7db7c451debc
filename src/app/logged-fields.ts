/**
 * The fields of a line of the log, as JSON. Those up to the duration are the same whenever the same is asked for and
 * answered alike, and are made once: a line is written piece by piece, and with a third of the pieces it takes half
 * of the time.
 */

import { jsonText } from "../base/json-value.ts";
import { flatText } from "../base/kept-text.ts";
import type { Exchange } from "../dispatch/exchange.ts";
import type { Refusal } from "../dispatch/refusals/refusal.ts";
import type { LoggedOpening } from "../dispatch/routes/route.ts";

const MAX_LOGGED_LENGTH = 512;

/** One field behind others; nothing for what is no text. */
export function field(name: string, value: unknown): string {
  return typeof value === "string" ? `,"${name}":${quoted(value)}` : "";
}

function quoted(text: string): string {
  const isLong = text.length > MAX_LOGGED_LENGTH;
  return jsonText(isLong ? `${text.slice(0, MAX_LOGGED_LENGTH)}…` : text);
}

/** A refusal that was logged, by what was asked for. */
interface LoggedRefusal {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly code: Refusal["code"];
  /** Made for the second of its kind. */
  parts: LoggedOpening | undefined;
}

/** Few: a path may be a piece of a head, all of which it keeps alive. */
const SLOTS = 64;
const refused = new Array<LoggedRefusal | undefined>(SLOTS).fill(undefined);

/** The opening of a line; the code is that of the refusal, where it is one. */
export function openingOf(
  exchange: Exchange,
  status: number,
  code: Refusal["code"] | undefined,
): LoggedOpening {
  if (code === undefined) return answeredOpening(exchange, status);
  if (exchange.route?.concealment !== undefined) return refusedOpening(exchange, status, code);
  const { request, translatedFrom } = exchange;
  const { path } = request;
  const method = translatedFrom ?? request.method;
  const slot =
    (status * 7 + path.length * 5 + method.length + path.charCodeAt(path.length - 1)) & 63;
  const before = refused[slot];
  if (
    before === undefined ||
    before.status !== status ||
    before.code !== code ||
    before.method !== method ||
    before.path !== path
  ) {
    refused[slot] = { method, path, status, code, parts: undefined };
    return refusedOpening(exchange, status, code);
  }
  if (before.parts === undefined) {
    const parts = refusedOpening(exchange, status, code);
    before.parts = { opening: flatText(parts.opening), code: flatText(parts.code) };
  }
  return before.parts;
}

function refusedOpening(exchange: Exchange, status: number, code: string): LoggedOpening {
  return { opening: makeOpening(exchange, status), code: field("code", code) };
}

/** That of a path that is its endpoint's is made once. */
function answeredOpening(exchange: Exchange, status: number): LoggedOpening {
  const { request, route, translatedFrom } = exchange;
  const isRepeated =
    status === 200 &&
    translatedFrom === undefined &&
    route?.path === request.path &&
    route.method === request.method;
  if (!isRepeated) return { opening: makeOpening(exchange, status), code: "" };
  route.logged ??= { opening: flatText(makeOpening(exchange, status)), code: "" };
  return route.logged;
}

function makeOpening(exchange: Exchange, status: number): string {
  const { request, translatedFrom } = exchange;
  const method = quoted(translatedFrom ?? request.method);
  const path = quoted(exchange.conceal(request.path));
  return `,"method":${method},"path":${path},"status":${status},"duration_ms":`;
}
