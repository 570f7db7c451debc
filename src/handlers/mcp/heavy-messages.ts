/**
 * Refuses long messages of an MCP server. The library judges a message in one go, with an error for each wrong
 * value, and so a long one holds the loop for seconds. Answers about tools may be long: they are judged by parts.
 */
import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { hasMoreValues } from "../../base/json-pieces.ts";
import { isReply } from "./call-streams.ts";
import { UNREADABLE } from "./exact-results.ts";

/** More than the longest form that people are asked to fill in has. */
const MAX_VALUES = 5_000;
const REFUSED = { code: -32_600, message: `a message of more than ${MAX_VALUES} values` };

type Listener = NonNullable<Transport["onmessage"]>;

/** Keeps long messages from the listener of a transport, but for answers about tools; `onMessage` hears every one. */
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
  // A request is answered, and an answer fails its call.
  const refuse = (message: JSONRPCMessage, listener: Listener): void => {
    if (!("id" in message) || message.id === undefined) return;
    const { id } = message;
    if (isReply(message)) listener({ jsonrpc: "2.0", id, error: UNREADABLE });
    else void transport.send({ jsonrpc: "2.0", id, error: REFUSED }).catch(() => undefined);
  };
  let receive: Listener | undefined;
  // While the library asks for the version, it has its own listener in the place of any other.
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
