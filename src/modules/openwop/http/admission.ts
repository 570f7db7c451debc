/**
 * Admits requests: a key first, then whether there is such a thing, then whether the key is good
 * for it. 401 nobody's key · 404 nothing there · 405 another method · 403 not this key.   OpenWOP "auth"
 */
import type { RunCaller } from "../runs/run-caller.ts";
import { type ApiAnswer, notFound, otherMethods, refuse } from "./answer.ts";
import type { ApiKey } from "./api-keys.ts";
import type { ApiParts, ApiRoute } from "./api-route.ts";
import { RouteTable } from "./route-table.ts";
import { FACE_ROUTES } from "./routes.ts";

/** A request that may be read. */
export interface Admission {
  readonly parts: ApiParts;
  readonly route: ApiRoute;
  readonly params: Readonly<Record<string, string>>;
  readonly key: ApiKey;
  readonly caller: RunCaller;
}

const TABLE = new RouteTable(FACE_ROUTES);

/** Lets a request in, or says why not. */
export function admit(
  method: string,
  url: string,
  headers: { readonly authorization?: string | undefined },
  parts: ApiParts,
): Admission | ApiAnswer {
  const key = parts.keys.find(headers.authorization);
  if (key === undefined) return unauthenticated();
  const [path = ""] = url.split("?");
  const match = TABLE.find(method === "HEAD" ? "GET" : method, path);
  if (match === undefined) return notFound();
  if (match.kind === "other-methods") return otherMethods(match.allowed);
  const { route, params } = match;
  if (route.isConformance === true && !parts.isConformance) return notFound();
  const requiredScope = route.scopes.find((scope) => !key.scopes.has(scope));
  if (requiredScope !== undefined) {
    const message = `the key is not good for this, which needs the scope ${requiredScope}`;
    return refuse(403, "forbidden", message, { requiredScope });
  }
  return { parts, route, params, key, caller: callerOf(key) };
}

function callerOf({ tenant, name, agtpScopes }: ApiKey): RunCaller {
  return { owner: { tenant, principal: name, scopes: agtpScopes }, sees: "tenant" };
}

function unauthenticated(): ApiAnswer {
  const no = refuse(401, "unauthenticated", "a bearer key that is known here is needed");
  return { ...no, headers: { "WWW-Authenticate": "Bearer" } };
}
