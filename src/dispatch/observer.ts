/** Those who hear of requests: logs, metrics and traces stay outside the pipeline. */
import type { CallLog } from "../handlers/handler.ts";
import type { Response, WireFault } from "../wire/message.ts";
import type { Peer } from "./caller/peer.ts";
import type { Exchange } from "./exchange.ts";
import type { Fault } from "./handling/invoke.ts";
import type { Reply } from "./reply.ts";

/** Hears what happened to each request. */
export interface Observer {
  /** True where somebody hears of the end of requests that are answered with this status. */
  hears(status: number): boolean;
  start(exchange: Exchange): void;
  end(exchange: Exchange, response: Response, reply: Reply): void;
  wireFault(fault: WireFault, response: Response, peer?: Peer): void;
  fault(fault: Fault): void;
  logFor(exchange: Exchange): CallLog;
}
