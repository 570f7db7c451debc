/**
 * Plain requests of a session while they are answered. Their client ends them by a word and not by
 * leaving; what was ended is not answered any more.   MCP 2025-11-25 "Cancellation"
 */
import type { Server } from "@modelcontextprotocol/server";
import { knowsForms } from "./client-capabilities.ts";
import type { McpRequest } from "./front.ts";
import { answerPlain, type PlainAnswer } from "./plain-answer.ts";
import type { PlainRequest } from "./plain-request.ts";

/** The requests of one session. */
export class SessionAnswers {
  readonly #server: Pick<Server, "getClientCapabilities">;
  /** Ends each, by the id of its message. */
  readonly #running = new Map<string | number, () => void>();

  constructor(server: Pick<Server, "getClientCapabilities">) {
    this.#server = server;
  }

  /** Answers one; undefined: it is for the library. */
  async answer(
    request: McpRequest,
    plain: PlainRequest,
    sessionId: string,
  ): Promise<PlainAnswer | undefined> {
    const { id } = plain;
    // A second message of the same id is the library's to bear.
    if (this.#running.has(id)) return undefined;
    const listeners: (() => void)[] = [];
    const ended = new Promise<typeof ENDED>((resolve) => {
      this.#running.set(id, () => {
        for (const listener of listeners) listener();
        resolve(ENDED);
      });
    });
    const canElicit = knowsForms(this.#server.getClientCapabilities());
    const onLeave = (listener: () => void): void => void listeners.push(listener);
    const answering = answerPlain({ request, plain, onLeave, canElicit, serverId: undefined });
    try {
      const body = await Promise.race([answering, ended]);
      if (body === ENDED) return { type: "text/event-stream", body: "", sessionId };
      return body === undefined ? undefined : { type: "application/json", body, sessionId };
    } finally {
      this.#running.delete(id);
    }
  }

  /** Its client does not want the answer any more. */
  end(id: string | number): void {
    this.#running.get(id)?.();
  }

  /** The session is over. */
  endAll(): void {
    for (const end of this.#running.values()) end();
  }
}

const ENDED = Symbol("ended");
