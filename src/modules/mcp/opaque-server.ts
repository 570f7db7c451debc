/**
 * The library's server with opaque faults: a client learns that one happened and its id in the log, but not the cause.
 * The library alone would send the message of any thrown error. Also readers of parameters and capabilities.   MCP
 * "Error Handling"
 */
import {
  type Implementation,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  type ServerOptions,
  type StandardSchemaV1,
} from "@modelcontextprotocol/server";
import { isRecord, type JsonRecord, recordIn } from "../../base/json-value.ts";
import { invalidParams, ReportedFault } from "./protocol-errors.ts";
import type { ToldError } from "./report-fault.ts";

type Handler = Parameters<Server["_wrapHandler"]>[1];

/** Reports an error of a request, and returns the error that its client gets instead. */
export type ReportThrown = (thrown: unknown, context: ServerContext) => ToldError;

export class OpaqueServer extends Server {
  readonly #report: ReportThrown;

  constructor(info: Implementation, options: ServerOptions, report: ReportThrown) {
    super(info, options);
    this.#report = report;
  }

  protected override _wrapHandler(method: string, handler: Handler): Handler {
    // The library's constructor registers handlers before `#report` is set; they throw for bad parameters only.
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

/**
 * True for a failure of the server that nobody has reported; the library reports an invalid result as invalid
 * parameters.
 */
function isFault(error: ProtocolError, isResult: boolean): boolean {
  const { code } = error;
  if (isResult && code === ProtocolErrorCode.InvalidParams) return true;
  return code === ProtocolErrorCode.InternalError && !(error instanceof ReportedFault);
}

/** Schema of parameters with a required text; others are passed on. */
export function withText<N extends string>(
  name: N,
): StandardSchemaV1<unknown, Readonly<Record<N, string>>> {
  return schemaOf((params) =>
    typeof params[name] === "string" ? undefined : `${name} must be a string`,
  );
}

/** Schema of parameters for the library; `faultOf` returns the fault of invalid ones. */
export function schemaOf<T>(
  faultOf: (params: JsonRecord) => string | undefined,
): StandardSchemaV1<unknown, T> {
  return {
    "~standard": {
      version: 1,
      vendor: "agtpd",
      validate: (value) => {
        const message = isRecord(value) ? faultOf(value) : "params must be an object";
        return message === undefined ? { value: value as T } : { issues: [{ message }] };
      },
    },
  };
}

/** Returns the client capabilities in an envelope of the current protocol. */
export function declaredIn(envelope: unknown): unknown {
  return recordIn(envelope)["io.modelcontextprotocol/clientCapabilities"];
}

/** True if the client can ask its user by a form; elicitation without a mode means forms. */
export function canElicit(
  server: Pick<Server, "getClientCapabilities">,
  { mcpReq }: Pick<ServerContext, "mcpReq">,
): boolean {
  const { envelope } = mcpReq;
  return knowsForms(isRecord(envelope) ? declaredIn(envelope) : server.getClientCapabilities());
}

/** True if an envelope of the current protocol declares that the client can ask its user. */
export function canElicitBy(envelope: JsonRecord): boolean {
  return knowsForms(declaredIn(envelope));
}

/** True if the declared capabilities include asking the user by a form. */
export function knowsForms(declared: unknown): boolean {
  const elicitation = recordIn(declared)["elicitation"];
  if (!isRecord(elicitation)) return false;
  return isRecord(elicitation["form"]) || Object.keys(elicitation).length === 0;
}
