/**
 * `subscriptions/listen` of 2026-07-28: each stream has news of its own, since its caller's tools are.
 * It ends with its client, and when the daemon begins to stop.   MCP "Subscriptions"
 */
import { createMcpHandler, type Server } from "@modelcontextprotocol/server";
import type { Audience } from "./audience.ts";
import { BoundedNews } from "./bounded-news.ts";
import type { McpRequest } from "./front.ts";
import { authInfoOf } from "./mcp-server.ts";

/** More are refused, in the library's words. */
const MAX_OPEN = 1_024;
const MAX_PER_CALLER = 64;

/** The streams of a process. */
export class Subscriptions {
  readonly #create: () => Server;
  readonly #audience: Audience;
  readonly #open = new Set<AbortController>();
  readonly #byCaller = new Map<string, number>();

  constructor(create: () => Server, audience: Audience) {
    this.#create = create;
    this.#audience = audience;
  }

  /** Answers one request to listen. */
  async handle(http: Request, request: McpRequest, body: unknown): Promise<Response> {
    const { front, caller } = request;
    const hasRoom =
      this.#open.size < MAX_OPEN && (this.#byCaller.get(caller.key) ?? 0) < MAX_PER_CALLER;
    const handler = createMcpHandler(this.#create, {
      legacy: "reject",
      maxSubscriptions: hasRoom ? 1 : 0,
    });
    const controller = this.#hold(http.signal, caller.key);
    const { signal } = controller;
    const news = new BoundedNews(() => handler.notify.toolsChanged());
    const listener = this.#audience.add(front, caller, () => news.tell());
    signal.addEventListener("abort", () => listener.end(), { once: true });
    const asked = new Request(http, { signal });
    const options = { authInfo: authInfoOf(request), parsedBody: body };
    const response = await handler.fetch(asked, options);
    if (response.headers.get("content-type") === "text/event-stream") return news.watch(response);
    // It was refused, and nobody listens.
    controller.abort();
    return response;
  }

  /** Ends all of them. */
  end(): void {
    for (const controller of this.#open) controller.abort();
  }

  /** Counts a stream until it ends. */
  #hold(leaving: AbortSignal, key: string): AbortController {
    const controller = new AbortController();
    this.#open.add(controller);
    this.#byCaller.set(key, (this.#byCaller.get(key) ?? 0) + 1);
    const release = (): void => {
      this.#open.delete(controller);
      const left = (this.#byCaller.get(key) ?? 1) - 1;
      if (left > 0) this.#byCaller.set(key, left);
      else this.#byCaller.delete(key);
    };
    controller.signal.addEventListener("abort", release, { once: true });
    const end = (): void => controller.abort();
    if (leaving.aborted) end();
    leaving.addEventListener("abort", end, { once: true });
    return controller;
  }
}
