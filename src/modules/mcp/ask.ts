/**
 * Sends an MCP request through the pipeline: it becomes a request of its caller, passes every gate, and is answered
 * only once its record is stored.   AGTP-IDENTIFIERS "Attribution-Record"
 */
import type { JsonRecord } from "../../base/json-value.ts";
import { Exchange } from "../../dispatch/exchange.ts";
import { envelopedRequest } from "../../dispatch/handling/acting.ts";
import { recorded, recordOf } from "../../dispatch/recorded.ts";
import type { Refusal } from "../../dispatch/refusals/refusal.ts";
import type { Route } from "../../dispatch/routes/route.ts";
import type { RecordDraft } from "../../state/records/record.ts";
import type { Response } from "../../wire/message.ts";
import type { McpRequest } from "./front.ts";

/** A client's request in the form that the pipeline takes. */
export interface Asking {
  readonly method: string;
  readonly path: string;
  readonly input: JsonRecord;
  /** Further header fields. */
  readonly fields?: ReadonlyMap<string, string>;
  /** The route to use if it is registered nowhere. */
  readonly route?: Route;
  /** Refuses the request, which is recorded all the same. */
  readonly refusal?: Refusal | undefined;
  /** Registers a listener for the caller's leaving or cancelling. */
  readonly onLeave?: ((listener: () => void) => void) | undefined;
  /** Called for each finished part of the call, or with the progress of its handler's upstream. */
  readonly progress?: TellProgress | undefined;
}

/** An answer whose record is stored. */
export interface Answer {
  readonly exchange: Exchange;
  readonly response: Response;
  /** Undefined if records are switched off. */
  readonly record: RecordDraft | undefined;
}

/** Value of `requested_via` in records of MCP requests. */
const REQUESTED_VIA = "mcp";

/** Sends a request through the pipeline; undefined if its record could not be stored, so that there is no answer. */
export async function ask(request: McpRequest, asking: Asking): Promise<Answer | undefined> {
  const { dispatcher, ledger } = request.front;
  const exchange = exchangeOf(request, asking);
  const { onLeave, progress } = asking;
  let done = 0;
  if (progress !== undefined) {
    exchange.onPart = (part) => {
      done += 1;
      progress(done, exchange.route?.steps?.length, part);
    };
    exchange.onProgress = ({ progress: at, total, message }) => progress(at, total, message);
  }
  onLeave?.(() => exchange.abort(new Error("the caller cancelled the request")));
  const { response, isKept } = await recorded(ledger, await dispatcher.answer(exchange));
  return isKept ? { exchange, response, record: recordOf(response) } : undefined;
}

const NO_FIELDS: ReadonlyMap<string, string> = new Map();

function exchangeOf({ caller }: McpRequest, asking: Asking): Exchange {
  const { method, path, input, fields = NO_FIELDS, route, refusal } = asking;
  const headers = new Map([...caller.fields, ...fields]);
  const sent = envelopedRequest({ method, path, query: undefined, headers }, input);
  const exchange = new Exchange(sent, caller.peer, performance.now());
  exchange.requestedVia = REQUESTED_VIA;
  // The listener counts a message once, however many requests it causes.
  exchange.isCounted = true;
  exchange.route = route;
  exchange.frontRefusal = refusal;
  return exchange;
}

/** Reports a call's progress to its client. */
export type TellProgress = (
  done: number,
  total: number | undefined,
  message: string | undefined,
) => void;

export interface ToolCall {
  readonly name: string;
  readonly arguments: JsonRecord;
  readonly meta: unknown;
  /** Registers a listener for the client's leaving or cancelling. */
  onLeave(listener: () => void): void;
  /** True for a client of 2026-07-28. */
  readonly isCurrent: boolean;
  readonly knowsTasks: boolean;
  /** True if the client can ask its user. */
  readonly canElicit: boolean;
  /** The state that the client returns, and its user's answers. */
  readonly requestState: string | undefined;
  readonly inputResponses: JsonRecord | undefined;
  /** Reports progress to the client; undefined if the client did not ask for it. */
  progress?: TellProgress | undefined;
}
