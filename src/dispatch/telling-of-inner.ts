/** Tells of a request that a handler dispatches, to whoever traces; costs nothing while nobody does. */
import { channel } from "node:diagnostics_channel";
import type { Exchange } from "./exchange.ts";
import type { Reply } from "./reply.ts";
import { CHANNELS, type InnerBegin } from "./request-channels.ts";

const begun = channel(CHANNELS.inner);
const tellNobody = (): void => undefined;

/** Answers it; `answer` says what the reply is, once there is one. */
export function tellingOfInner<T>(
  exchange: Exchange,
  answer: (told: (reply: Reply) => void) => T,
): T {
  if (!begun.hasSubscribers) return answer(tellNobody);
  const message: InnerBegin = { exchange, onEnd: undefined };
  begun.publish(message);
  const { onEnd } = message;
  return answer(onEnd === undefined ? tellNobody : ({ status, refusal }) => onEnd(status, refusal));
}
