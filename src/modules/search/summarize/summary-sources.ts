/**
 * Collects the sources of a summary: inline content, and references read by a dispatch with the caller's own
 * permissions. 422 `source-refused` for a reference that is never read, `source-unreadable` for one that failed · 262,
 * 401, 403 and 455 as the source itself answers.   AGTP "SUMMARIZE"
 */

import { hash } from "node:crypto";
import { isRecord, quoteValue, recordIn } from "../../../base/json-value.ts";
import type { Drive, Paced } from "../../../base/paced.ts";
import { sourceRefused, sourceUnreadable } from "../../../dispatch/refusals/floor-refusals.ts";
import { type Refusal, refusal } from "../../../dispatch/refusals/refusal.ts";
import type { Call, DispatchResult } from "../../../handlers/handler.ts";
import { canonicalTextOf } from "../../../identity/canonical-form.ts";
import type { IsOwnAddress } from "../../../identity/own-address.ts";
import { isStatus, isSuccess } from "../../../wire/message.ts";
import {
  type NamedSource,
  readSourceName,
  type SourcePlaces,
  type SourceReference,
} from "./source-reference.ts";

interface ReadSource {
  readonly content: unknown;
  /** "METHOD /path"; undefined for inline content. */
  readonly reference: string | undefined;
  /** Length of the text, or of the value as JSON. */
  readonly length: number;
  readonly hash: string;
}

export interface ReadSources {
  readonly kind: "sources";
  readonly sources: readonly ReadSource[];
  /** SHA-256 over the content: a text itself, any other value in canonical form. */
  readonly hash: string;
}

/** For all sources together, as texts or as JSON. */
const MAX_SOURCE_CHARACTERS = 262_144;
const MAX_REFERENCES = 8;
/** Methods to try, in order, for a path that is named alone. */
const PREFERRED_METHODS = ["QUERY", "FETCH", "DESCRIBE", "DISCOVER"];
/** Statuses that are passed on with the source's own reason. */
const AUTHORITY_STATUSES: readonly number[] = [262, 401, 403, 455];

interface ReadingOptions {
  readonly call: Pick<Call, "dispatch" | "signal" | "log">;
  readonly places: SourcePlaces;
  readonly drive: Drive;
}

/** Reads the source, or each source of a list in turn. */
export async function readSources(
  given: unknown,
  { call, places, drive }: ReadingOptions,
): Promise<ReadSources | Refusal> {
  const list: readonly unknown[] = Array.isArray(given) ? given : [given];
  const named = await drive(nameSources(list, places.isHere));
  const references = named.filter(({ kind }) => kind === "reference").length;
  if (references > MAX_REFERENCES) {
    return sourceRefused(`${references} sources are named, expected at most ${MAX_REFERENCES}`);
  }
  const found: FoundSource[] = [];
  for (const source of named) {
    if (source.kind === "refused") return sourceRefused(source.message);
    call.signal.throwIfAborted();
    const read = source.kind === "inline" ? source : await readReference(call, source, places);
    if (read.kind === "refusal") return read;
    found.push({
      content: read.content,
      reference: "reference" in read ? read.reference : undefined,
    });
  }
  return drive(takeSources(found, Array.isArray(given)));
}

/** Sources between two pauses. */
const PAUSE_SOURCES = 32;

function* nameSources(
  list: readonly unknown[],
  isHere: IsOwnAddress,
): Paced<readonly NamedSource[]> {
  const named: NamedSource[] = [];
  for (const source of list) {
    if (named.length % PAUSE_SOURCES === 0) yield;
    named.push(readSourceName(source, isHere));
  }
  return named;
}

interface FoundSource {
  readonly content: unknown;
  readonly reference: string | undefined;
}

/** Measures and hashes the sources, up to the maximal size. */
function* takeSources(
  found: readonly FoundSource[],
  isList: boolean,
): Paced<ReadSources | Refusal> {
  const sources: ReadSource[] = [];
  const texts: string[] = [];
  let room = MAX_SOURCE_CHARACTERS;
  for (const { content, reference } of found) {
    const taken = yield* takeContent(content, room);
    if (taken.kind === "refusal") return taken;
    const { canonical, ...source } = taken;
    if (isList && canonical === undefined) return notCanonical();
    room -= source.length;
    texts.push(canonical ?? "");
    sources.push({ ...source, reference });
  }
  // The hash of a list is over its items' canonical forms.
  const whole = isList ? hash("sha256", `[${texts.join(",")}]`) : (sources[0]?.hash ?? "");
  return { kind: "sources", sources, hash: whole };
}

interface Taken extends Omit<ReadSource, "reference"> {
  readonly kind: "content";
  /** The canonical form in a list; undefined for a single text, which needs none. */
  readonly canonical: string | undefined;
}

/** Measures and hashes one source. A handler's output may be cyclic or change meanwhile, so it is encoded first. */
function* takeContent(content: unknown, room: number): Paced<Taken | Refusal> {
  yield;
  if (typeof content === "string") return takeText(content, room);
  const text = textOf(content);
  if (text === undefined) return sourceUnreadable("the source is no JSON value");
  if (text.length > room) return tooLong();
  yield;
  const copy: unknown = JSON.parse(text);
  yield;
  const canonical = canonicalTextOf(copy);
  if (canonical === undefined) return notCanonical();
  yield;
  const { length } = text;
  return { kind: "content", content: copy, length, hash: hash("sha256", canonical), canonical };
}

function takeText(text: string, room: number): Taken | Refusal {
  if (text.length > room) return tooLong();
  const canonical = canonicalTextOf(text);
  return {
    kind: "content",
    content: text,
    length: text.length,
    hash: hash("sha256", text),
    canonical,
  };
}

/** Encodes a value as JSON; undefined if it has no encoding. */
function textOf(content: unknown): string | undefined {
  try {
    return JSON.stringify(content) ?? undefined;
  } catch {
    return undefined;
  }
}

function tooLong(): Refusal {
  const allowed = `${MAX_SOURCE_CHARACTERS} characters in all`;
  return sourceRefused(`the source is longer than this server reads: ${allowed}`);
}

function notCanonical(): Refusal {
  return sourceUnreadable("the source has no canonical form: it has malformed text, or no bottom");
}

interface ReadReference {
  readonly kind: "read";
  readonly content: unknown;
  readonly reference: string;
}

async function readReference(
  call: Pick<Call, "dispatch" | "log">,
  source: SourceReference,
  places: SourcePlaces,
): Promise<ReadReference | Refusal> {
  const { path, query, input } = source;
  const method = source.method ?? readingMethod(path, places);
  const reference = `${method ?? "QUERY"} ${path}`;
  const target = method === undefined ? undefined : places.registered(method, path);
  if (method === undefined || target === undefined) {
    const message = `${quoteValue(reference)} is no endpoint of this server that can be read`;
    return sourceUnreadable(message, { reference });
  }
  if (target.impact !== "informational") {
    const message = `${quoteValue(reference)} is ${target.impact}: only what changes nothing is read`;
    return sourceRefused(message);
  }
  const result = await dispatchQuietly(call, reference, () =>
    call.dispatch(method, query === undefined ? path : `${path}?${query}`, input),
  );
  if (!isSuccess(result.status)) return refuseAsAnswered(reference, result);
  const content = target.isFloor ? resultOf(result.body) : result.body;
  if (content !== undefined) return { kind: "read", content, reference };
  return sourceUnreadable(`${quoteValue(reference)} answered with nothing`, { reference });
}

function readingMethod(path: string, places: SourcePlaces): string | undefined {
  const others = path === "/" ? [] : places.methodsFor(path);
  const candidates = path === "/" ? ["DISCOVER"] : [...PREFERRED_METHODS, ...others];
  return candidates.find((method) => places.registered(method, path)?.impact === "informational");
}

/** Dispatches to a source; the cause of a fault goes to the log, and only the source's name to the caller. */
async function dispatchQuietly(
  call: Pick<Call, "log">,
  reference: string,
  dispatch: () => Promise<DispatchResult>,
): Promise<DispatchResult> {
  try {
    return await dispatch();
  } catch (error) {
    call.log.error({ err: error, reference }, "a source threw");
    return { status: 500, headers: {}, body: undefined };
  }
}

function refuseAsAnswered(reference: string, { status, body }: DispatchResult): Refusal {
  const error = recordIn(recordIn(body)["error"]);
  const { code, message } = error;
  const said = typeof message === "string" ? `: ${message}` : "";
  const text = `the source ${quoteValue(reference)} answered ${status}${said}`;
  const details = { reference, status, error };
  if (!AUTHORITY_STATUSES.includes(status) || !isStatus(status) || typeof code !== "string") {
    return sourceUnreadable(text, details);
  }
  const { error: _error, ...carried } = recordIn(body);
  return refusal(status, code, text, { carried, details });
}

/** Unwraps the result of a floor method. */
function resultOf(body: unknown): unknown {
  return isRecord(body) && Object.hasOwn(body, "result") ? body["result"] : body;
}
