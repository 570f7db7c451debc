/**
 * The way of an MCP request through the pipeline: it becomes a request of its caller, passes every
 * gate, and no answer is given before its record is kept.   AGTP-IDENTIFIERS "Attribution-Record"
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

/** A request of a client, as the pipeline is asked. */
export interface Asking {
  readonly method: string;
  readonly path: string;
  readonly input: JsonRecord;
  /** Further header fields. */
  readonly fields?: ReadonlyMap<string, string>;
  /** The route that answers, where that is registered nowhere. */
  readonly route?: Route;
  /** Why it cannot be asked for: it is recorded, and refused. */
  readonly refusal?: Refusal | undefined;
  /** Calls back if the caller leaves, or cancels it. */
  readonly onLeave?: ((listener: () => void) => void) | undefined;
  /** Hears of every part of the call that is done, or how far the upstream of its handler is. */
  readonly progress?: TellProgress | undefined;
}

/** An answer whose record is kept. */
export interface Answer {
  readonly exchange: Exchange;
  readonly response: Response;
  /** Undefined: records are switched off. */
  readonly record: RecordDraft | undefined;
}

/** Stands in the record of whatever came this way. */
const REQUESTED_VIA = "mcp";

/** Asks; undefined where the record of the answer could not be kept, so that there is none. */
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
  // By the listener, once for whatever is asked on behalf of a message.
  exchange.isCounted = true;
  exchange.route = route;
  exchange.frontRefusal = refusal;
  return exchange;
}

/** Tells a client how far its call is. */
export type TellProgress = (
  done: number,
  total: number | undefined,
  message: string | undefined,
) => void;

export interface ToolCall {
  readonly name: string;
  readonly arguments: JsonRecord;
  readonly meta: unknown;
  /** Calls back if its client leaves, or cancels it. */
  onLeave(listener: () => void): void;
  /** True for a client of 2026-07-28. */
  readonly isCurrent: boolean;
  readonly knowsTasks: boolean;
  /** True if its client can ask its user. */
  readonly canElicit: boolean;
  /** The state that its client brings back, and the answers of its user. */
  readonly requestState: string | undefined;
  readonly inputResponses: JsonRecord | undefined;
  /** Tells its client how far it is; undefined: the client does not want to know. */
  progress?: TellProgress | undefined;
}
