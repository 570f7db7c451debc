/**
 * DISCOVER on "/": the manifest to a request without Agent-ID or with the manifest's media type in
 * Accept, the directory of built-ins to an agent, the built-in of a legacy `target`. A search by
 * criteria is answered 501.   AGTP-API §5.8.3, §5.10, §8.10
 */
import { notImplemented } from "../dispatch/refusal.ts";
import type { RouteHandler } from "../dispatch/route.ts";
import type { Call } from "../handlers/handler.ts";
import { MANIFEST_TYPE, type ManifestDocument } from "../manifest/document.ts";
import { legacyTargetHandler } from "./legacy-target.ts";

const SEARCH_PARAMETERS = ["criteria", "intent", "filter"] as const;

/** What DISCOVER "/" answers with. */
export interface RootOptions {
  /** The built-ins by reserved name, as their own paths answer. */
  readonly handlers: ReadonlyMap<string, RouteHandler>;
  /** The manifest as this caller may see it. */
  manifestFor(agentId: string | undefined): ManifestDocument;
}

/** The handler of DISCOVER "/". */
export function rootHandler({ handlers, manifestFor }: RootOptions): RouteHandler {
  const answerTarget = legacyTargetHandler(handlers);
  const directory = [...handlers.keys()].map((name) => ({ path: `/${name}`, tier: "A" }));
  return (call, exchange) => {
    const { target } = call.input;
    if (target !== undefined) return answerTarget(call, exchange, target);
    if (SEARCH_PARAMETERS.some((name) => call.input[name] !== undefined)) {
      return notImplemented("discover-criteria", "this server cannot search by criteria");
    }
    if (!wantsManifest(call)) return { body: { directory } };
    const { bytes, etag } = manifestFor(call.agentId);
    return {
      body: bytes,
      headers: {
        "Content-Type": MANIFEST_TYPE,
        ETag: etag,
        "Cache-Control": "private, max-age=300",
      },
    };
  };
}

function wantsManifest(call: Call): boolean {
  if (call.agentId === undefined) return true;
  return (call.headers["accept"] ?? "").toLowerCase().includes(MANIFEST_TYPE);
}
