/**
 * The console's API: each page's facts, and the changes that operators make. A change is a request of
 * AGTP in the person's name: it passes the gates, and its record names the person.
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { isRecord, type JsonRecord, recordIn } from "../../base/json-value.ts";
import { ANONYMOUS } from "../../dispatch/caller/caller.ts";
import type { ActAs } from "../../dispatch/handling/acting.ts";
import { ConsoleFault, malformed } from "./console-fault.ts";
import { operatorOfPerson } from "./person.ts";
import type { SignedIn } from "./sessions.ts";

/** A request to a route. */
export interface ApiRequest {
  readonly signedIn: SignedIn;
  /** Parameters of the path; `*` is the rest of it. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The object that asks for a change; empty for a question. */
  readonly body: JsonRecord;
  /** Asks AGTP in the person's name. @throws ConsoleFault where it is refused. */
  act(
    method: string,
    target: string,
    input: JsonRecord,
    /** Where the person signed it. */
    via?: "passkey",
  ): Promise<JsonRecord>;
}

/** One route below `/api/`. */
export interface ApiRoute {
  readonly method: "GET" | "POST";
  readonly path: string;
  answer(request: ApiRequest): unknown;
}

/** Says who asks. @throws ConsoleFault */
export type Admit = (request: FastifyRequest, isChange: boolean) => SignedIn;

/** A route that shows something. */
export function get(path: string, answer: ApiRoute["answer"]): ApiRoute {
  return { method: "GET", path, answer };
}

/** A route that changes something. */
export function post(path: string, answer: ApiRoute["answer"]): ApiRoute {
  return { method: "POST", path, answer };
}

/** A route that holds streams open until it is closed. */
export interface Events {
  register(app: FastifyInstance, admit: Admit): void;
  close(): void;
}

/** The parts of the API. */
export interface ConsoleApi {
  readonly routes: readonly ApiRoute[];
  /** Noted when somebody does something. */
  touch(signedIn: SignedIn): Promise<void>;
  actAs(): ActAs;
  /** A route of its own, which holds streams open. */
  readonly events: Events;
}

/** Adds all routes. */
export function addApi(app: FastifyInstance, api: ConsoleApi, admit: Admit): void {
  for (const route of api.routes) addRoute(app, route, { ...api, admit });
  api.events.register(app, admit);
}

interface Adding extends ConsoleApi {
  readonly admit: Admit;
}

function addRoute(app: FastifyInstance, route: ApiRoute, parts: Adding): void {
  const isChange = route.method === "POST";
  app.route({
    method: route.method,
    url: `/api${route.path}`,
    handler: async (request, reply) => {
      const signedIn = parts.admit(request, isChange);
      const body = isChange ? readBody(request) : {};
      await parts.touch(signedIn);
      const { params, url } = request;
      const at = url.indexOf("?");
      const query = new URLSearchParams(at < 0 ? "" : url.slice(at));
      const act: ApiRequest["act"] = (method, target, input, via) =>
        actFor(signedIn, parts.actAs(), { method, target, input, via });
      const asked = { signedIn, params: params as ApiRequest["params"], query, body, act };
      return reply.send((await route.answer(asked)) ?? {});
    },
  });
}

const JSON_TYPE = /^application\/json\s*(?:;|$)/i;

/** A page of another origin could send anything but this type without being asked first. */
function readBody({ body, headers }: FastifyRequest): JsonRecord {
  if (!JSON_TYPE.test(headers["content-type"] ?? "")) {
    throw new ConsoleFault(415, "unsupported-type", "the body must be application/json");
  }
  try {
    const value: unknown = JSON.parse(String(body ?? ""));
    if (isRecord(value)) return value;
  } catch {
    throw new ConsoleFault(400, "invalid-body", "the body is no JSON");
  }
  throw malformed("the body must be an object");
}

interface Asked {
  readonly method: string;
  readonly target: string;
  readonly input: JsonRecord;
  readonly via: "passkey" | undefined;
}

async function actFor(
  { person }: SignedIn,
  actAs: ActAs,
  { via, ...asked }: Asked,
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

/** A text of a body. @throws ConsoleFault */
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

/** The reason of a change, if there is one. */
export function reasonIn(body: JsonRecord): JsonRecord {
  const { reason } = body;
  return reason === undefined || reason === "" ? {} : { reason: textIn(body, "reason") };
}
