/** The public API: the exports for handler modules, and for programs that embed the client. */

export type {
  AgtpClient,
  ClientOptions,
  ClientRequest,
  ClientResponse,
} from "./client/agtp-client.ts";
export { createClient } from "./client/client.ts";
export { AgtpClientError, type AgtpClientErrorCode } from "./client/client-error.ts";
export { type AgtpUri, parseUri } from "./client/uri.ts";
export type {
  Call,
  CallLog,
  DispatchResult,
  Handler,
  HandlerError,
  HandlerResult,
  HandlerResult as Result,
  HandlerSuccess,
} from "./handlers/handler.ts";
