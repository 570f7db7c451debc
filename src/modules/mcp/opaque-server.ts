/**
 * The library's server, whose faults stay with the operator: a client learns that there was one and the
 * id under which the log has it, and not a word of why. The library would send the message of
 * whatever was thrown.   MCP "Error Handling"
 */
import {
  type Implementation,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  type ServerOptions,
} from "@modelcontextprotocol/server";
import { invalidParams, ReportedFault } from "./protocol-errors.ts";
import type { ToldError } from "./report-fault.ts";

type Handler = Parameters<Server["_wrapHandler"]>[1];

/** Keeps what was thrown in a request, and answers what its client is told instead. */
type ReportThrown = (thrown: unknown, context: ServerContext) => ToldError;

export class OpaqueServer extends Server {
  readonly #report: ReportThrown;

  constructor(info: Implementation, options: ServerOptions, report: ReportThrown) {
    super(info, options);
    this.#report = report;
  }

  protected override _wrapHandler(method: string, handler: Handler): Handler {
    // The constructor of the library registers its own, which throw for nothing but parameters.
    const isLibrarys = !(#report in this);
    const answered = new WeakSet<object>();
    const answering = super._wrapHandler(method, async (request, context) => {
      const result = await handler(request, context);
      answered.add(request);
      return result;
    });
    return async (request, context) => {
      try {
        return await answering(request, context);
      } catch (error) {
        const isResult = answered.has(request);
        if (error instanceof ProtocolError && !isFault(error, isResult)) throw error;
        if (isLibrarys) throw invalidParams(`Invalid params for ${method}`);
        const { code, message, data } = this.#report(error, context);
        throw new ReportedFault(code, message, data);
      }
    };
  }
}

/** The server failed, and nobody has reported it; of a result the library says that it is invalid. */
function isFault(error: ProtocolError, isResult: boolean): boolean {
  const { code } = error;
  if (isResult && code === ProtocolErrorCode.InvalidParams) return true;
  return code === ProtocolErrorCode.InternalError && !(error instanceof ReportedFault);
}
