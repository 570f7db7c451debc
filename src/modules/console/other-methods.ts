/** 405 for methods that a path does not have, with those that it has.   RFC 9110 §15.5.6 */
import type { FastifyInstance } from "fastify";
import { HTTP_METHODS } from "../../dispatch/module/http-gateway.ts";
import { ConsoleFault } from "./console-fault.ts";

/** Collects the routes that are added from now on; `close` refuses their other methods. */
export function refuseOtherMethods(app: FastifyInstance): { close(): void } {
  const known = new Map<string, Set<string>>();
  app.addHook("onRoute", ({ url, method }) => {
    const methods = known.get(url) ?? new Set();
    known.set(url, methods);
    for (const one of [method].flat()) methods.add(one);
  });
  return {
    close: () => {
      for (const [url, has] of [...known]) {
        const others = HTTP_METHODS.filter((method) => !has.has(method));
        const allow = HTTP_METHODS.filter((method) => has.has(method)).join(", ");
        app.route({
          ...{ url, method: others, exposeHeadRoute: false },
          handler: (_request, reply) => {
            reply.header("allow", allow);
            throw methodNotAllowed(allow);
          },
        });
      }
    },
  };
}

/** 405 */
export function methodNotAllowed(allow: string): ConsoleFault {
  return new ConsoleFault(405, "method-not-allowed", `what is at this path has ${allow}`);
}
