/** The public surface: what handler modules and programs that embed a client import. */
export type {
  Call,
  CallLog,
  DispatchResult,
  Handler,
  HandlerError,
  HandlerResult,
  HandlerSuccess,
} from "./handlers/handler.ts";
