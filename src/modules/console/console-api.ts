/**
 * The console's API: the facts of each page, and the changes that operators make. A change is an AGTP request in the
 * person's name: it passes the gates, and its record names the person.
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import {
  given,
  isRecord,
  type JsonRecord,
  parseJson,
  quoteValue,
  recordIn,
} from "../../base/json-value.ts";
import { isTooDeep, MAX_DEPTH } from "../../base/nesting.ts";
import { ANONYMOUS } from "../../dispatch/caller/caller.ts";
import type { ActAs } from "../../dispatch/handling/acting.ts";
import { findLost } from "../../endpoint/input.ts";
import { ConsoleFault, malformed } from "./console-fault.ts";
import { operatorOfPerson } from "./person.ts";
import { encodeAnswer } from "./rows.ts";
import type { Sessions, SignedIn } from "./sessions.ts";

export interface ApiRequest {
  readonly signedIn: SignedIn;
  /** Path parameters; `*` is the rest of the path. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The object of a change; empty for a GET. */
  readonly body: JsonRecord;
  /** Sends AGTP a floor method in the person's name. @throws ConsoleFault if it is refused. */
  act(
    method: string,
    input: JsonRecord,
    /** Present if the person signed the change. */
    via?: "passkey",
  ): Promise<JsonRecord>;
}

/** One route below `/api/`. */
export interface ApiRoute {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** Allowed members of a change; undefined for a route that refuses every change. */
  readonly members?: readonly string[];
  /** Returns an object, whose members may be `Rows`. */
  answer(request: ApiRequest): object | Promise<object>;
}

/** Returns the session of a request. @throws ConsoleFault */
export type Admit = (request: FastifyRequest, isChange: boolean) => SignedIn;

/** Defines a route that reads. */
export function get(path: string, answer: ApiRoute["answer"]): ApiRoute {
  return { method: "GET", path, answer };
}

/** Defines a route that changes something, given an object with these members. */
export function post(
  path: string,
  members: readonly string[] | undefined,
  answer: ApiRoute["answer"],
): ApiRoute {
  return { method: "POST", path, answer, ...given({ members }) };
}

/** A route with open streams, which `close` ends. */
export interface Events {
  register(app: FastifyInstance, admit: Admit): void;
  close(): void;
}

export interface ApiParts {
  readonly routes: readonly ApiRoute[];
  readonly sessions: Sessions;
  actAs(): ActAs;
  /** The route of the event streams. */
  readonly events: Events;
}

/** Adds all routes. */
export function addApi(app: FastifyInstance, parts: ApiParts, admit: Admit): void {
  for (const route of parts.routes) addRoute(app, route, parts, admit);
  parts.events.register(app, admit);
}

function addRoute(
  app: FastifyInstance,
  route: ApiRoute,
  { sessions, actAs }: ApiParts,
  admit: Admit,
): void {
  const isChange = route.method === "POST";
  app.route({
    method: route.method,
    url: `/api${route.path}`,
    handler: async (request, reply) => {
      const signedIn = admit(request, isChange);
      const body = isChange ? readBody(request) : {};
      refuseUnknown(body, route);
      await sessions.touch(signedIn.token);
      const { params } = request;
      const query = queryOf(request);
      const act: ApiRequest["act"] = (method, input, via) =>
        actFor(signedIn, actAs(), { method, target: "/", input }, via);
      const asked = { signedIn, params: params as ApiRequest["params"], query, body, act };
      const json = await encodeAnswer(await route.answer(asked));
      return reply.type("application/json; charset=utf-8").send(json);
    },
  });
}

/** Parses the query of a request. */
export function queryOf({ url }: FastifyRequest): URLSearchParams {
  const [, ...query] = url.split("?");
  return new URLSearchParams(query.join("?"));
}

/** One level more than an AGTP body, since an input or answer nested in it may be that deep. */
const MAX_BODY_DEPTH = MAX_DEPTH + 1;
const JSON_TYPE = /^application\/json\s*(?:;|$)/i;

/** Requires application/json, which a page of another origin cannot send without a preflight. */
function readBody({ body, headers }: FastifyRequest): JsonRecord {
  if (!JSON_TYPE.test(headers["content-type"] ?? "")) {
    throw new ConsoleFault(415, "unsupported-type", "the body must be application/json");
  }
  const json = String(body ?? "");
  const value = parseJson(json);
  if (value === undefined) throw new ConsoleFault(400, "invalid-body", "the body is no JSON");
  if (!isRecord(value)) throw malformed("the body must be an object");
  if (isTooDeep(value, MAX_BODY_DEPTH)) {
    throw malformed(`the body is nested deeper than ${MAX_BODY_DEPTH} levels`);
  }
  const [lost] = findLost(Buffer.from(json), value) ?? [];
  if (lost !== undefined) throw malformed(`${lost.path}: ${lost.message}`);
  return value;
}

/** Refuses unknown members: a misspelled one would be silently left out of the change. */
function refuseUnknown(body: JsonRecord, { members }: ApiRoute): void {
  if (members === undefined) return;
  const unknown = Object.keys(body).find((name) => !members.includes(name));
  if (unknown === undefined) return;
  throw malformed(`${quoteValue(unknown)} is none of ${members.join(", ")}`);
}

async function actFor(
  { person }: SignedIn,
  actAs: ActAs,
  asked: Pick<Parameters<ActAs>[0], "method" | "target" | "input">,
  via: "passkey" | undefined,
): Promise<JsonRecord> {
  const { status, body } = await actAs({
    ...asked,
    caller: ANONYMOUS,
    operator: { ...operatorOfPerson(person), ...(via && { via }) },
    taskId: undefined,
    signal: new AbortController().signal,
  });
  const answer = recordIn(body);
  if (status < 400 && status !== 262) {
    const { result } = answer;
    return isRecord(result) ? result : answer;
  }
  const { code = "refused", message = "it was refused" } = recordIn(answer["error"]);
  throw new ConsoleFault(
    status < 500 && status >= 400 ? status : 409,
    String(code),
    String(message),
  );
}

/** Returns a non-empty text of a body. @throws ConsoleFault */
export function textIn(body: JsonRecord, name: string, allowed?: readonly string[]): string {
  const value = body[name];
  if (typeof value !== "string" || value === "") throw malformed(`${name} must be a text`);
  if (value.length > MAX_TEXT)
    throw malformed(`${name} must be at most ${MAX_TEXT} characters long`);
  if (allowed !== undefined && !allowed.includes(value)) {
    throw malformed(`${name} must be one of ${allowed.join(", ")}`);
  }
  return value;
}

const MAX_TEXT = 1024;

/** Returns the reason of a change, if it has one. */
export function reasonIn(body: JsonRecord): JsonRecord {
  const { reason } = body;
  return reason === undefined || reason === "" ? {} : { reason: textIn(body, "reason") };
}
