/**
 * Refuses heavy messages of an MCP server. The library validates a message in one go, with an error
 * for each wrong value, so a heavy one blocks the loop for seconds. Answers about tools may be
 * heavy: they are validated in parts.
 */
import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { hasMoreValues } from "../../base/json-pieces.ts";
import { isReply } from "./call-streams.ts";
import { UNREADABLE } from "./exact-results.ts";

/** More values than the longest form for a person has. */
const MAX_VALUES = 5_000;
const REFUSED = { code: -32_600, message: `a message of more than ${MAX_VALUES} values` };

type Listener = NonNullable<Transport["onmessage"]>;

/** Hides heavy messages from a transport's listener, except answers about tools; `onMessage` gets every message. */
export function refuseHeavy(
  transport: Transport,
  onMessage: (message: JSONRPCMessage) => void = () => undefined,
): void {
  let areToolsAsked = false;
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    areToolsAsked ||= isJSONRPCRequest(message) && message.method.startsWith("tools/");
    return send(message, options);
  };
  // A request is answered with an error; an answer becomes an error that fails its call.
  const refuse = (message: JSONRPCMessage, listener: Listener): void => {
    if (!("id" in message) || message.id === undefined) return;
    const { id } = message;
    if (isReply(message)) listener({ jsonrpc: "2.0", id, error: UNREADABLE });
    else void transport.send({ jsonrpc: "2.0", id, error: REFUSED }).catch(() => undefined);
  };
  let receive: Listener | undefined;
  // Why a property: the library replaces the listener while it negotiates the version.
  Object.defineProperty(transport, "onmessage", {
    get: () => receive,
    set: (listener: Listener | undefined) => {
      receive =
        listener &&
        ((message, extra) => {
          onMessage(message);
          const isAboutTools = areToolsAsked && isReply(message);
          if (isAboutTools || !hasMoreValues(message, MAX_VALUES)) listener(message, extra);
          else refuse(message, listener);
        });
    },
  });
}
