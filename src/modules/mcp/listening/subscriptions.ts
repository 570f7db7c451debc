/**
 * `subscriptions/listen` of 2026-07-28: each stream has notifications of its own, since each caller has its own tools.
 * It ends with its client, with its caller's token, and when the daemon begins to stop.   MCP "Subscriptions"
 */

import { createMcpHandler, type Server } from "@modelcontextprotocol/server";
import { recordIn } from "../../../base/json-value.ts";
import { Tally } from "../../../base/tally.ts";
import type { McpCaller, McpFront, McpRequest } from "../front.ts";
import { authInfoOf } from "../library-server.ts";
import { REFUSED } from "../report-fault.ts";
import { jsonError } from "../sessions.ts";
import { hearOf } from "../tasks/run-task.ts";
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
import type { OpenStreams } from "./open-streams.ts";

/** The error for a client that subscribes to tasks without declaring the extension. */
const UNDECLARED = {
  code: -32_021,
  message: `the client has not declared ${TASKS_EXTENSION}`,
  data: { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } },
};

/** Further streams are refused by the library. */
const MAX_OPEN = 1_024;
const MAX_PER_CALLER = 64;

interface SubscriptionParts {
  readonly audience: Audience;
  readonly streams: OpenStreams;
  create(): Server;
  /** The deployment that is served now. */
  served(): McpFront | undefined;
}

export class Subscriptions {
  readonly #parts: SubscriptionParts;
  readonly #open = new Set<AbortController>();
  readonly #byCaller = new Tally();

  constructor(parts: SubscriptionParts) {
    this.#parts = parts;
  }

  /** Answers a request to listen. */
  async handle(http: Request, request: McpRequest, body: unknown): Promise<Response> {
    const { audience, create, served } = this.#parts;
    const { front, caller } = request;
    const asked = askedTasks(body);
    if (asked !== undefined && !declaresTasks(envelopeOf(body))) {
      return jsonError(400, UNDECLARED, body);
    }
    const refusal = await hearOf(front, asked ?? []);
    if (refusal !== undefined) {
      const { status, code, message } = refusal;
      return jsonError(status, { code: REFUSED, message, data: { code } }, body);
    }
    const taskIds = ownTasks(request, asked ?? []);
    const hasTasks = taskIds.length > 0;
    const hearsTools = asksForTools(body);
    const hasRoom = this.#open.size < MAX_OPEN && this.#byCaller.of(caller.key) < MAX_PER_CALLER;
    const handler = createMcpHandler(create, {
      legacy: "reject",
      maxSubscriptions: hasRoom ? 1 : 0,
    });
    const controller = this.#hold(http.signal, caller);
    const { signal } = controller;
    const news = new BoundedNews(() => handler.notify.toolsChanged());
    if (hearsTools || !hasTasks) {
      const listener = audience.add(front, caller, () => news.tell());
      signal.addEventListener("abort", () => listener.end(), { once: true });
    }
    const parsedBody = hasTasks ? withoutTasks(body) : body;
    const options = { authInfo: authInfoOf(request), parsedBody };
    const response = await handler.fetch(createWebRequest(http, signal), options);
    if (response.headers.get("content-type") !== "text/event-stream") {
      // The library refused the request, so there is no stream.
      controller.abort();
      return response;
    }
    const heard = news.watch(response);
    if (!hasTasks) return heard;
    const { id } = body as { readonly id?: unknown };
    return withTaskNews(heard, { request, taskIds, id, hearsTools, stream: controller, served });
  }

  end(): void {
    for (const controller of this.#open) controller.abort();
  }

  /** Counts a stream until it ends, at the latest when its caller is no longer admitted. */
  #hold(leaving: AbortSignal, caller: McpCaller): AbortController {
    const controller = new AbortController();
    const end = (): void => controller.abort();
    this.#open.add(controller);
    this.#byCaller.add(caller.key);
    const leave = this.#parts.streams.add({ caller: () => caller, end });
    const release = (): void => {
      leave();
      this.#open.delete(controller);
      this.#byCaller.remove(caller.key);
    };
    controller.signal.addEventListener("abort", release, { once: true });
    if (leaving.aborted) end();
    leaving.addEventListener("abort", end, { once: true });
    return controller;
  }
}

function envelopeOf(body: unknown): unknown {
  const params = recordIn(body)["params"];
  return recordIn(params)["_meta"];
}
