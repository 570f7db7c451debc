/**
 * DISCOVER on "/": the manifest to a request without Agent-ID or with the manifest's media type in
 * Accept, the directory of built-ins to an agent, the built-in of a legacy `target`, and candidates
 * to whoever asks by criteria.   AGTP "DISCOVER", AGTP-API §5.8.3, §5.10, §8.10
 */

import { shareBody } from "../../base/shared-body.ts";
import type { FloorMethod } from "../../dispatch/routes/floor.ts";
import type { RouteHandler } from "../../dispatch/routes/route.ts";
import type { Call, HandlerResult } from "../../handlers/handler.ts";
import { MANIFEST_TYPE } from "../../identity/manifest-signature.ts";
import type { ManifestDocument } from "./document.ts";
import { legacyTargetHandler } from "./legacy-target.ts";

/** The answers of DISCOVER "/". */
export interface RootOptions {
  /** The built-ins by reserved name, as their own paths answer. */
  readonly handlers: ReadonlyMap<string, RouteHandler>;
  /** The manifest as this caller may see it. */
  manifestFor(agentId: string | undefined): ManifestDocument | Promise<ManifestDocument>;
  readonly candidates: FloorMethod | undefined;
}

/** The handler of DISCOVER "/". */
export function rootHandler({ handlers, manifestFor, candidates }: RootOptions): RouteHandler {
  const answerTarget = legacyTargetHandler(handlers);
  const directory = [...handlers.keys()].map((name) => ({ path: `/${name}`, tier: "A" }));
  return (call, exchange) => {
    const { target } = call.input;
    if (target !== undefined) return answerTarget(call, exchange, target);
    if (candidates?.isAsked?.(call.input)) return candidates.handler(call, exchange);
    if (!wantsManifest(call)) return { body: { directory } };
    const manifest = manifestFor(call.agentId);
    return manifest instanceof Promise ? manifest.then(answerOf) : answerOf(manifest);
  };
}

function answerOf({ bytes, etag }: ManifestDocument): HandlerResult {
  return {
    body: shareBody(bytes),
    headers: {
      "Content-Type": MANIFEST_TYPE,
      ETag: etag,
      "Cache-Control": "private, max-age=300",
    },
  };
}

function wantsManifest(call: Call): boolean {
  if (call.agentId === undefined) return true;
  return (call.headers["accept"] ?? "").toLowerCase().includes(MANIFEST_TYPE);
}
