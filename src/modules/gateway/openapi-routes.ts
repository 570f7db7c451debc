/**
 * `GET /openapi.json`: the operator's endpoints as HTTP clients of this sidecar find them. Made when
 * it is first asked for, because a port that the system chose is not known before.   AGTP-API §14.2
 */

import type { HttpPlugin } from "../../dispatch/module/http-route.ts";
import { networkOwner } from "../../dispatch/rates/rates.ts";
import type { Toll } from "../../dispatch/rates/toll.ts";
import { type ExportSource, exportOpenapi } from "../../openapi/export-openapi.ts";
import { entityTag, isNoneMatch } from "./http-answer.ts";
import { OPENAPI_PATH } from "./http-methods.ts";
import { errorBody, sendRefusal } from "./http-status.ts";

const TYPE = "application/json; charset=utf-8";

/** The API, as a plugin for the root of the path space. */
export function createOpenapiRoutes(source: () => ExportSource, toll: Toll): HttpPlugin {
  let made: { readonly bytes: Buffer; readonly tag: string } | undefined;
  const make = () => {
    const bytes = Buffer.from(JSON.stringify(exportOpenapi(source())));
    return { bytes, tag: entityTag(bytes, TYPE) };
  };
  return (app) => {
    app.route({
      method: ["GET", "HEAD"],
      url: OPENAPI_PATH,
      handler: (request, reply) => {
        made ??= toll.measure(networkOwner(request.socket.remoteAddress ?? ""), make);
        reply.header("etag", made.tag).header("cache-control", "no-cache");
        if (isNoneMatch(request.headers["if-none-match"], made.tag)) return reply.code(304).send();
        return reply.header("content-type", TYPE).send(made.bytes);
      },
    });
    app.route({
      method: ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
      url: OPENAPI_PATH,
      handler: (request, reply) => {
        reply.header("allow", "GET, HEAD, OPTIONS");
        if (request.method === "OPTIONS") return reply.code(204).send();
        const message = "the document can be read only";
        return sendRefusal(reply, 405, errorBody("method-not-allowed", message));
      },
    });
  };
}
