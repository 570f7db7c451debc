/** A server with many kinds of work to offer, in the words in which operators describe theirs. */
import { agentFile, configFile, ECHO_MODULE, endpointFile } from "./deployment.ts";

/** An agent with every scope of the corpus, one with few, and one that cannot be found. */
export const CLERK: string = "c1".repeat(32);
export const GUEST: string = "9e".repeat(32);

interface Work {
  readonly pair: string;
  readonly description: string;
  readonly intent: string;
  readonly outcome: string;
  readonly capability: string;
  readonly impact: string;
  readonly namespace: string;
  readonly properties?: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
  readonly scopes?: readonly string[];
}

const text = { type: "string", minLength: 1 };
const id = { type: "string", pattern: "^[A-Z]{2}-[0-9]{6}$" };
const date = { type: "string", format: "date" };

const WORKS: readonly Work[] = [
  {
    pair: "BOOK /rooms/{room_type}",
    description: "Books a hotel room of one type for a named guest.",
    intent: "Reserve a room of one type for a guest.",
    outcome: "The nights are taken and a reservation_id is returned.",
    capability: "transaction",
    impact: "reversible",
    namespace: "hotel",
    properties: {
      room_type: { enum: ["single", "double"] },
      guest: {
        type: "object",
        required: ["name"],
        properties: { name: text, email: { type: "string", format: "email" } },
      },
      arrival: date,
      nights: { type: "integer", minimum: 1, maximum: 30 },
    },
    required: ["room_type", "guest", "arrival", "nights"],
    scopes: ["booking:room"],
  },
  {
    pair: "QUERY /rooms",
    description: "Lists the room types that are free for a whole stay, with their price.",
    intent: "Find out which room types are free between two dates.",
    outcome: "The free room types are returned; nothing is held.",
    capability: "discovery",
    impact: "informational",
    namespace: "hotel",
    properties: { arrival: date, departure: date },
    required: ["arrival", "departure"],
  },
  {
    pair: "CANCEL /reservations/{reservation_id}",
    description: "Cancels a reservation and frees its nights.",
    intent: "Cancel a reservation that was made before.",
    outcome: "The reservation is gone and its nights can be booked again.",
    capability: "modification",
    impact: "irreversible",
    namespace: "hotel",
    properties: { reservation_id: id },
    required: ["reservation_id"],
    scopes: ["booking:room"],
  },
  {
    pair: "FETCH /reservations/{reservation_id}",
    description: "Returns one reservation.",
    intent: "Read a reservation by its identifier.",
    outcome: "The reservation is returned; nothing changes.",
    capability: "retrieval",
    impact: "informational",
    namespace: "hotel",
    properties: { reservation_id: id },
    required: ["reservation_id"],
    scopes: ["booking:read"],
  },
  {
    pair: "CREATE /invoices",
    description: "Issues an invoice to a customer for delivered work.",
    intent: "Issue an invoice to a customer.",
    outcome: "The invoice is stored and sent by email.",
    capability: "creation",
    impact: "irreversible",
    namespace: "billing",
    properties: {
      customer_id: id,
      amount_cents: { type: "integer", minimum: 1 },
      currency: { enum: ["EUR", "USD"] },
    },
    required: ["customer_id", "amount_cents", "currency"],
    scopes: ["billing:write"],
  },
  {
    pair: "REFUND /payments/{payment_id}",
    description: "Returns money for a payment, in full or in part.",
    intent: "Give a customer the money of a payment back.",
    outcome: "The amount is on its way to the customer's account.",
    capability: "transaction",
    impact: "irreversible",
    namespace: "billing",
    properties: { payment_id: id, amount_cents: { type: "integer", minimum: 1 } },
    required: ["payment_id"],
    scopes: ["billing:write"],
  },
  {
    pair: "LIST /invoices",
    description: "Lists the invoices of a customer, the unpaid ones first.",
    intent: "See which invoices a customer has not paid yet.",
    outcome: "The invoices are returned with their state.",
    capability: "retrieval",
    impact: "informational",
    namespace: "billing",
    properties: { customer_id: id },
    required: ["customer_id"],
    scopes: ["billing:read"],
  },
  {
    pair: "TRACK /shipments/{shipment_id}",
    description: "Says where a parcel is and when it will be delivered.",
    intent: "Follow a shipment on its way.",
    outcome: "The last known place and the expected arrival are returned.",
    capability: "retrieval",
    impact: "informational",
    namespace: "logistics",
    properties: { shipment_id: id },
    required: ["shipment_id"],
  },
  {
    pair: "SHIP /orders/{order_id}",
    description: "Hands the goods of an order over to the carrier.",
    intent: "Ship an order to the address of the customer.",
    outcome: "The carrier has the parcel and a shipment_id is returned.",
    capability: "transaction",
    impact: "irreversible",
    namespace: "logistics",
    properties: { order_id: id, express: { type: "boolean" } },
    required: ["order_id"],
    scopes: ["orders:ship"],
  },
  {
    pair: "QUERY /stock/{sku}",
    description: "Says how many pieces of an article are in the warehouse.",
    intent: "Check whether a product is in stock.",
    outcome: "The quantity on hand is returned.",
    capability: "retrieval",
    impact: "informational",
    namespace: "logistics",
    properties: { sku: { type: "string", pattern: "^[0-9]{8}$" } },
    required: ["sku"],
  },
  {
    pair: "CONVERT /texts",
    description: "Translates a text from one language into another.",
    intent: "Translate a text.",
    outcome: "The translation is returned.",
    capability: "analysis",
    impact: "informational",
    namespace: "language",
    properties: { text, target_language: { type: "string", pattern: "^[a-z]{2}$" } },
    required: ["text", "target_language"],
  },
  {
    pair: "CREATE /tickets",
    description: "Opens a support ticket for a problem that a customer has.",
    intent: "Report a problem to the support team.",
    outcome: "A ticket is open and its number is returned.",
    capability: "creation",
    impact: "reversible",
    namespace: "support",
    properties: { subject: text, severity: { enum: ["low", "high"] } },
    required: ["subject"],
  },
  {
    pair: "ASSIGN /tickets/{ticket_id}",
    description: "Gives a support ticket to a member of staff.",
    intent: "Assign a support ticket to somebody.",
    outcome: "The ticket has an owner.",
    capability: "modification",
    impact: "reversible",
    namespace: "support",
    properties: { ticket_id: id, assignee: text },
    required: ["ticket_id", "assignee"],
    scopes: ["support:manage"],
  },
  {
    pair: "SCHEDULE /meetings",
    description: "Arranges a meeting and invites the participants.",
    intent: "Arrange a meeting of several people.",
    outcome: "The meeting stands in every participant's calendar.",
    capability: "domain_spanning",
    impact: "reversible",
    namespace: "office",
    properties: {
      starts_at: { type: "string", format: "date-time" },
      participants: {
        type: "array",
        minItems: 2,
        uniqueItems: true,
        items: { type: "string", format: "email" },
      },
    },
    required: ["starts_at", "participants"],
    scopes: ["calendar:write"],
  },
  {
    pair: "FORECAST /weather",
    description: "Forecasts the weather of a city for the coming days.",
    intent: "Learn what the weather of a city will be like.",
    outcome: "Temperature and rain are returned day by day.",
    capability: "analysis",
    impact: "informational",
    namespace: "weather",
    properties: { city: text, days: { type: "integer", minimum: 1, maximum: 14 } },
    required: ["city"],
  },
  {
    pair: "CREATE /予約",
    description: "レストランの席を予約します。",
    intent: "レストランを予約する。",
    outcome: "席が確保されます。",
    capability: "transaction",
    impact: "reversible",
    namespace: "restaurant",
    properties: { 人数: { type: "integer", minimum: 1 } },
    required: ["人数"],
  },
];

/** Pairs whose path must be ASCII on the wire. */
const asPath = (pair: string): readonly [string, string] => {
  const [method = "", path = ""] = pair.split(" ");
  return [
    method,
    path
      .split("/")
      .map((segment) => (/[{}]/.test(segment) ? segment : encodeURIComponent(segment)))
      .join("/"),
  ];
};

function endpointOf({ pair, properties = {}, required = [], scopes = [], ...work }: Work): string {
  const [method, path] = asPath(pair);
  const { description, namespace, ...semantic } = work;
  return endpointFile({
    method,
    path,
    properties,
    required,
    required_scopes: scopes,
    ...{ description, namespace },
    semantic: {
      ...semantic,
      actor: "agent",
      confidence: 0.9,
      is_idempotent: semantic.impact === "informational",
    },
  });
}

const ALL_SCOPES = [...new Set(WORKS.flatMap(({ scopes = [] }) => scopes))];

/** The files of that server, under a configuration. */
export function corpusFiles(
  tables: Readonly<Record<string, object>> = {},
): Readonly<Record<string, string>> {
  const endpoints = WORKS.map(
    (work, index) => [`endpoints/e${index}.toml`, endpointOf(work)] as const,
  );
  return {
    "agtp-server.toml": configFile(tables),
    "handlers.mjs": ECHO_MODULE,
    ...Object.fromEntries(endpoints),
    "agents/clerk.agent.json": agentFile({
      agent_id: CLERK,
      name: "clerk",
      description: "Works through the orders and invoices of the back office.",
      scopes_accepted: ALL_SCOPES,
      trust_tier: 2,
    }),
    "agents/guest.agent.json": agentFile({
      agent_id: GUEST,
      name: "guest",
      description: "Looks around.",
      scopes_accepted: ["booking:read"],
      trust_tier: 3,
    }),
  };
}
