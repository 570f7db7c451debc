/**
 * `subscriptions/listen` of 2026-07-28: each stream has news of its own, since its caller's tools are.
 * It ends with its client, and when the daemon begins to stop.   MCP "Subscriptions"
 */

import { createMcpHandler, type Server } from "@modelcontextprotocol/server";
import { recordIn } from "../../../base/json-value.ts";
import { Tally } from "../../../base/tally.ts";
import type { McpFront, McpRequest } from "../front.ts";
import { authInfoOf } from "../library-server.ts";
import { jsonError } from "../sessions.ts";
import {
  askedTasks,
  asksForTools,
  ownTasks,
  withoutTasks,
  withTaskNews,
} from "../tasks/task-news.ts";
import { declaresTasks, TASKS_EXTENSION } from "../tasks/task-requests.ts";
import { createWebRequest } from "../web-request.ts";
import { type Audience, BoundedNews } from "./audience.ts";

/** A client that hears of tasks has to say that it knows them. */
const UNDECLARED = {
  code: -32_021,
  message: `the client has not declared ${TASKS_EXTENSION}`,
  data: { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } },
};

/** More are refused, in the library's words. */
const MAX_OPEN = 1_024;
const MAX_PER_CALLER = 64;

/** The streams of a process. */
export class Subscriptions {
  readonly #create: () => Server;
  readonly #audience: Audience;
  readonly #open = new Set<AbortController>();
  readonly #byCaller = new Tally();
  readonly #served: () => McpFront | undefined;

  /** `served` is the deployment of the moment. */
  constructor(create: () => Server, audience: Audience, served: () => McpFront | undefined) {
    this.#create = create;
    this.#audience = audience;
    this.#served = served;
  }

  /** Answers one request to listen. */
  async handle(http: Request, request: McpRequest, body: unknown): Promise<Response> {
    const { front, caller } = request;
    const asked = askedTasks(body);
    if (asked !== undefined && !declaresTasks(envelopeOf(body))) {
      return jsonError(400, UNDECLARED, body);
    }
    const taskIds = ownTasks(request, asked ?? []);
    const hasTasks = taskIds.length > 0;
    const hearsTools = asksForTools(body);
    const hasRoom = this.#open.size < MAX_OPEN && this.#byCaller.of(caller.key) < MAX_PER_CALLER;
    const handler = createMcpHandler(this.#create, {
      legacy: "reject",
      maxSubscriptions: hasRoom ? 1 : 0,
    });
    const controller = this.#hold(http.signal, caller.key);
    const { signal } = controller;
    const news = new BoundedNews(() => handler.notify.toolsChanged());
    if (hearsTools || !hasTasks) {
      const listener = this.#audience.add(front, caller, () => news.tell());
      signal.addEventListener("abort", () => listener.end(), { once: true });
    }
    const parsedBody = hasTasks ? withoutTasks(body) : body;
    const options = { authInfo: authInfoOf(request), parsedBody };
    const response = await handler.fetch(createWebRequest(http, signal), options);
    if (response.headers.get("content-type") !== "text/event-stream") {
      // It was refused, and nobody listens.
      controller.abort();
      return response;
    }
    const heard = news.watch(response);
    if (!hasTasks) return heard;
    const { id } = body as { readonly id?: unknown };
    return withTaskNews(heard, { request, taskIds, id, hearsTools, signal, front: this.#served });
  }

  /** Ends all of them. */
  end(): void {
    for (const controller of this.#open) controller.abort();
  }

  /** Counts a stream until it ends. */
  #hold(leaving: AbortSignal, key: string): AbortController {
    const controller = new AbortController();
    this.#open.add(controller);
    this.#byCaller.add(key);
    const release = (): void => {
      this.#open.delete(controller);
      this.#byCaller.remove(key);
    };
    controller.signal.addEventListener("abort", release, { once: true });
    const end = (): void => controller.abort();
    if (leaving.aborted) end();
    leaving.addEventListener("abort", end, { once: true });
    return controller;
  }
}

function envelopeOf(body: unknown): unknown {
  const params = recordIn(body)["params"];
  return recordIn(params)["_meta"];
}
