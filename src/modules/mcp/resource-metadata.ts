/**
 * The metadata of MCP's endpoint as a protected resource: who gives tokens for it, and which scopes
 * its tools ask for. Anybody may read it, from any page.   RFC 9728
 */
import type { FastifyInstance } from "fastify";
import type { Protection } from "./front.ts";

/** Where metadata of a resource are, before the path of the resource. */
export const METADATA_PREFIX = "/.well-known/oauth-protected-resource";

/** The document, as a plugin for its path. */
export function createMetadataApi(
  protectionOf: () => Protection | undefined,
  name: string,
): (app: FastifyInstance) => void {
  return (app) => {
    app.get("/", (_request, reply) => {
      const protection = protectionOf();
      if (protection === undefined) return reply.callNotFound();
      return reply
        .header("content-type", "application/json")
        .header("access-control-allow-origin", "*")
        .header("cache-control", "public, max-age=300")
        .send(JSON.stringify(documentOf(protection, name)));
    });
  };
}

function documentOf({ issuer, scopes, resource }: Protection, name: string): object {
  return {
    resource: resource(),
    authorization_servers: [issuer],
    bearer_methods_supported: ["header"],
    ...(scopes.length === 0 ? {} : { scopes_supported: scopes }),
    resource_name: name,
  };
}
