/** Refusals of the console: a status, a code and a message for the person. */
import type { FastifyInstance } from "fastify";
import { HTTP_METHODS } from "../../dispatch/module/http-gateway.ts";

/** Thrown by handlers; the API sends it as `{error: {code, message}}`. */
export class ConsoleFault extends Error {
  readonly statusCode: number;
  readonly code: string;

  constructor(statusCode: number, code: string, message: string) {
    super(message);
    this.statusCode = statusCode;
    this.code = code;
  }
}

/** Builds a 404. */
export function unknown(what: string): ConsoleFault {
  return new ConsoleFault(404, "not-found", `there is no such ${what}`);
}

/** Returns the thing that was asked for. @throws ConsoleFault 404 if there is none */
export function found<T>(thing: T | undefined, what: string): T {
  if (thing === undefined) throw unknown(what);
  return thing;
}

/** Builds a 422. */
export function malformed(message: string): ConsoleFault {
  return new ConsoleFault(422, "malformed", message);
}

/** Answers 405 to methods that a path lacks, and lists those it has.   RFC 9110 §15.5.6 */
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

/** Builds a 405. */
export function methodNotAllowed(allow: string): ConsoleFault {
  return new ConsoleFault(405, "method-not-allowed", `what is at this path has ${allow}`);
}
