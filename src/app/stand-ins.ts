/**
 * Stand-ins for what a refused configuration does not name, though it may be meant to: endpoints are
 * bound to them, and never called.
 */
import type { UnservedHandler } from "../endpoint/load-endpoints.ts";
import type { McpServers } from "../handlers/call-upstream.ts";
import type { ModuleLoader } from "../handlers/module-loader.ts";
import type { Config } from "./config/config.ts";
import type { Doubts } from "./config/doubts.ts";

function never(): never {
  throw new Error("nothing is served");
}

/** A loader that takes it that there is what nobody can look for. */
export function withoutDoubtful(
  loader: ModuleLoader,
  { processes }: Config,
  doubts: Doubts,
): ModuleLoader {
  const isLost = (reference: string): boolean => {
    const [process = "", name] = reference.split(":", 2);
    if (name === undefined) return doubts.isAbout("handlers");
    return doubts.isAbout("processes") && processes.every((one) => one.name !== process);
  };
  return {
    load: async (reference, place) =>
      isLost(reference) ? { handler: never, problems: [] } : loader.load(reference, place),
  };
}

/** The servers, and any other that an endpoint names. */
export function withEveryServer(
  servers: McpServers | undefined,
  handlers: readonly UnservedHandler[],
): McpServers {
  const named = handlers.flatMap(({ handler }) =>
    handler.type === "mcp_tool" ? [handler.server] : [],
  );
  return {
    names: [...new Set([...(servers?.names ?? []), ...named])],
    timeoutMs: (name) => servers?.timeoutMs(name),
    bind: (binding, schema) => servers?.bind(binding, schema) ?? never,
  };
}
