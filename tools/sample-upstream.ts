/**
 * The order desk of the sample deployment: an HTTPS API like one that a business might have had for
 * years. It knows nothing of AGTP; `endpoints/orders/` describe how the daemon calls it. Orders are
 * kept in memory.
 */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";

/** The address of the desk, and the credential that it requires. */
interface OrderDeskOptions {
  readonly port: number;
  readonly cert: string;
  readonly key: string;
  /** The bearer token that callers must show. */
  readonly token: string;
}

interface Order {
  readonly orderNumber: string;
  readonly reservationId: string;
  readonly item: string;
  readonly count: number;
  readonly totalPrice: number;
  readonly currency: "EUR";
  readonly placedAt: number;
  isCancelled: boolean;
}

interface Reply {
  readonly status: number;
  readonly body: object;
}

const PRICES = new Map([
  ["breakfast", 18],
  ["champagne", 64],
  ["flowers", 35],
  ["late-supper", 28],
]);
const MAX_ORDERS = 10_000;
const MAX_BODY_BYTES = 65_536;
/** The maximum portions of one order. */
const MAX_COUNT = 12;
const SERVED_AFTER_MS = 10 * 60_000;

/** Starts the desk on 127.0.0.1; rejects if the port is taken. */
export async function startOrderDesk(options: OrderDeskOptions): Promise<Server> {
  const orders = new Map<string, Order>();
  const server = createServer({ cert: options.cert, key: options.key }, (request, response) => {
    const isKnown = request.headers.authorization === `Bearer ${options.token}`;
    const answering = isKnown ? answer(request, orders) : failure(401, "unknown key");
    Promise.resolve(answering).then(
      (reply) => send(response, reply),
      () => send(response, failure(400, "unreadable request")),
    );
  });
  server.listen(options.port, "127.0.0.1");
  await once(server, "listening");
  return server;
}

async function answer(request: IncomingMessage, orders: Map<string, Order>): Promise<Reply> {
  const { pathname } = new URL(request.url ?? "/", "https://localhost");
  if (pathname === "/v1/orders" && request.method === "POST") {
    return placeOrder(await readJson(request), orders);
  }
  const order = orders.get(/^\/v1\/orders\/([^/]+)$/.exec(pathname)?.[1] ?? "");
  if (order === undefined) return failure(404, "no such order");
  if (request.method === "GET") return { status: 200, body: present(order) };
  if (request.method !== "DELETE") return failure(405, "GET or DELETE");
  if (stateOf(order) === "served") return failure(409, "the order has been served");
  order.isCancelled = true;
  return { status: 200, body: present(order) };
}

function placeOrder(input: Record<string, unknown>, orders: Map<string, Order>): Reply {
  const { reservationId, item, count = 1 } = input;
  const price = PRICES.get(String(item));
  if (typeof reservationId !== "string" || price === undefined || !Number.isInteger(count)) {
    return failure(400, "reservationId, item and count are needed");
  }
  const portions = Number(count);
  if (portions < 1 || portions > MAX_COUNT || orders.size >= MAX_ORDERS) {
    return failure(409, `no ${portions} portions of ${item} left`);
  }
  const order: Order = {
    orderNumber: `OD-${String(orders.size + 1).padStart(5, "0")}`,
    reservationId,
    item: String(item),
    count: portions,
    totalPrice: price * portions,
    currency: "EUR",
    placedAt: Date.now(),
    isCancelled: false,
  };
  orders.set(order.orderNumber, order);
  return { status: 201, body: present(order) };
}

function stateOf(order: Order): "placed" | "served" | "cancelled" {
  if (order.isCancelled) return "cancelled";
  return Date.now() - order.placedAt > SERVED_AFTER_MS ? "served" : "placed";
}

function present(order: Order): object {
  const { isCancelled: _, placedAt, ...shown } = order;
  return { ...shown, state: stateOf(order), placedAt: new Date(placedAt).toISOString() };
}

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) {
    text += chunk;
    if (text.length > MAX_BODY_BYTES) throw new Error("the body is too large");
  }
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null) throw new Error("expected a JSON object");
  return value as Record<string, unknown>;
}

function failure(status: number, message: string): Reply {
  return { status, body: { message } };
}

function send(response: ServerResponse, { status, body }: Reply): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
