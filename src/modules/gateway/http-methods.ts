/**
 * The methods of HTTP that the sidecar takes. GET, POST, PUT, PATCH and DELETE are other names of AGTP
 * methods; a method that HTTP and the catalog have in common is that method.   AGTP-API §9.2
 */
import { HTTP_METHODS } from "../../dispatch/module/http-gateway.ts";

/** The methods of ordinary HTTP clients, and the one that AGTP shares with newer ones. */
export const METHODS: readonly string[] = [...HTTP_METHODS, "QUERY"];

/** Methods that Node reads and Fastify does not know by itself; some are methods of AGTP, too. */
export const FURTHER_METHODS: readonly string[] = [
  ...["ACL", "BIND", "CHECKOUT", "COPY", "LINK", "LOCK", "M-SEARCH", "MERGE", "MKACTIVITY"],
  ...["MKCALENDAR", "MKCOL", "MOVE", "NOTIFY", "PROPFIND", "PROPPATCH", "PURGE", "REBIND"],
  ...["REPORT", "SEARCH", "SOURCE", "SUBSCRIBE", "UNBIND", "UNLINK", "UNLOCK", "UNSUBSCRIBE"],
];

/** The path of the OpenAPI document of the endpoints; no API may claim it. */
export const OPENAPI_PATH = "/openapi.json";
