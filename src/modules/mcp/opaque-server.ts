/**
 * The library's server, whose faults stay with the operator: a client learns that there was one and the
 * id under which the log has it, and not a word of why. The library would send the message of
 * whatever was thrown. With it how parameters and capabilities are read.   MCP "Error Handling"
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

/** Keeps what was thrown in a request, and answers what its client is told instead. */
export type ReportThrown = (thrown: unknown, context: ServerContext) => ToldError;

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

/** Parameters of which one is a text that has to be there; the others are handed on. */
export function withText<N extends string>(
  name: N,
): StandardSchemaV1<unknown, Readonly<Record<N, string>>> {
  return schemaOf((params) =>
    typeof params[name] === "string" ? undefined : `${name} must be a string`,
  );
}

/** Parameters, in the form that the library takes schemas in; `faultOf` says why others are refused. */
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

/** The capabilities that a client has declared in an envelope of the current protocol. */
export function declaredIn(envelope: unknown): unknown {
  return recordIn(envelope)["io.modelcontextprotocol/clientCapabilities"];
}

/** By a form; one that knows elicitation and names no mode does. */
export function canElicit(
  server: Pick<Server, "getClientCapabilities">,
  { mcpReq }: Pick<ServerContext, "mcpReq">,
): boolean {
  const { envelope } = mcpReq;
  return knowsForms(isRecord(envelope) ? declaredIn(envelope) : server.getClientCapabilities());
}

/** Tells by an envelope of the current protocol whether the client can ask its user. */
export function canElicitBy(envelope: JsonRecord): boolean {
  return knowsForms(declaredIn(envelope));
}

/** Tells by declared capabilities whether the client can ask its user. */
export function knowsForms(declared: unknown): boolean {
  const elicitation = recordIn(declared)["elicitation"];
  if (!isRecord(elicitation)) return false;
  return isRecord(elicitation["form"]) || Object.keys(elicitation).length === 0;
}
