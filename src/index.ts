/** The public surface: what handler modules and programs that embed the client import. */

export { type AgtpClient, type ClientOptions, createClient } from "./client/client.ts";
export { AgtpClientError, type AgtpClientErrorCode } from "./client/client-error.ts";
export type { ClientRequest } from "./client/request.ts";
export type { ClientResponse } from "./client/response.ts";
export { type AgtpUri, parseUri } from "./client/uri.ts";
export type {
  Call,
  CallLog,
  DispatchResult,
  Handler,
  HandlerError,
  HandlerResult,
  HandlerSuccess,
} from "./handlers/handler.ts";
