/**
 * The deprecated body form `DISCOVER target=NAME`: equal to `DISCOVER /NAME`, with a warning the
 * first time each agent uses it, and 400 where path and body disagree.   AGTP-API §5.10
 */
import { LRUCache } from "lru-cache";
import { badRequest, type Refusal, schemaViolation } from "../../dispatch/refusals/refusal.ts";
import type { ExchangeView, RouteHandler } from "../../dispatch/routes/route.ts";
import type { Call, HandlerResult } from "../../handlers/handler.ts";

/** The targets that the body form ever had. */
const LEGACY_TARGETS: readonly string[] = ["methods", "agents", "genesis", "tools", "apis"];

const REMEMBERED_AGENTS = 10_000;

/** Refuses a `target` in the body that is not the path's own name. */
export function withTarget(name: string, handler: RouteHandler): RouteHandler {
  return (call, exchange) => {
    const { target } = call.input;
    return target === undefined || target === name
      ? handler(call, exchange)
      : conflict(`/${name}`, target);
  };
}

function conflict(path: string, target: unknown): Refusal {
  const message = `the path names ${path} and the body target "${String(target)}"`;
  return badRequest("discover-target-conflict", message, { conflict: { path, target } });
}

/** Answers `target=NAME` on the root path with the built-in of that name. */
export function legacyTargetHandler(
  handlers: ReadonlyMap<string, RouteHandler>,
): (call: Call, exchange: ExchangeView, target: unknown) => ReturnType<RouteHandler> {
  const warned = new LRUCache<string, true>({ max: REMEMBERED_AGENTS });
  return (call, exchange, target) => {
    const isKnown = typeof target === "string" && LEGACY_TARGETS.includes(target);
    const handler = isKnown ? handlers.get(target) : undefined;
    if (handler === undefined) return unknownTarget();
    const answer = handler(call, exchange);
    const agent = call.agentId ?? "";
    if (warned.has(agent)) return answer;
    warned.set(agent, true);
    call.log.warn({ target }, "DISCOVER target= in the body is deprecated");
    const warning = `deprecated; successor=DISCOVER /${String(target)}`;
    return answer instanceof Promise
      ? answer.then((result) => withWarning(result, warning))
      : withWarning(answer, warning);
  };
}

function unknownTarget(): Refusal {
  const message = `must be one of ${LEGACY_TARGETS.join(", ")}`;
  return schemaViolation([{ path: "/target", keyword: "enum", message }]);
}

function withWarning(result: HandlerResult | Refusal, warning: string): HandlerResult | Refusal {
  if ("error" in result) return result;
  return { ...result, headers: { ...result.headers, "AGTP-Endpoint-Warning": warning } };
}
