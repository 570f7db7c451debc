/**
 * What an MCP server says beside the answers to what its tools are and do: short things, each of which the library
 * judges in one go, and with an error for each value that is wrong. What is long costs the loop seconds, and is not
 * given to it.
 */
import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { isStructure } from "../../base/json-value.ts";
import { isReply } from "./call-streams.ts";
import { UNREADABLE } from "./exact-results.ts";

/** More than the longest form that people are asked to fill in has. */
const MAX_VALUES = 5_000;
const REFUSED = { code: -32_600, message: `a message of more than ${MAX_VALUES} values` };

type Listener = NonNullable<Transport["onmessage"]>;

/**
 * Gives whoever listens to a transport nothing that is long; answers about tools alone are judged by parts. `onMessage`
 * hears of all that comes.
 */
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
  // Nobody waits in vain, neither here nor there.
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
          if (isAboutTools || roomAfter(message, MAX_VALUES) >= 0) listener(message, extra);
          else refuse(message, listener);
        });
    },
  });
}

/** How many values there may be beside those of a message; negative where it has too many. */
function roomAfter(value: unknown, room: number): number {
  let left = room - 1;
  if (!isStructure(value)) return left;
  const items: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  for (let at = 0; at < items.length && left >= 0; at += 1) left = roomAfter(items[at], left);
  return left;
}
