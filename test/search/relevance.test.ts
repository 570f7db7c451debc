import { describe, expect, it } from "vitest";
import { shareServer } from "../support/dispatch.ts";
import { CLERK, corpusFiles } from "../support/search-corpus.ts";

const server = shareServer(corpusFiles());

async function sourcesFor(intent: string): Promise<readonly string[]> {
  const { body } = await server().send({
    method: "QUERY",
    headers: { "Agent-ID": CLERK },
    body: { intent },
  });
  const results = body["result"]?.["results"] as unknown as readonly { source: string, confidence:number }[];
  return results.map(({ source, confidence }) => source+" "+confidence);
}

// AGTP "QUERY"
describe("the best result", () => {
  it.each([
    ["book a room", "BOOK /rooms/{room_type}"],
    ["I want to reserve a hotel room for two nights", "BOOK /rooms/{room_type}"],
    ["make a reservation for a guest", "BOOK /rooms/{room_type}"],
    ["which rooms are available next week?", "QUERY /rooms"],
    ["find free rooms and their prices", "QUERY /rooms"],
    ["check room availability", "QUERY /rooms"],
    ["cancel my reservation", "CANCEL /reservations/{reservation_id}"],
    ["cancelling a booking", "CANCEL /reservations/{reservation_id}"],
    ["show me the details of my reservation", "FETCH /reservations/{reservation_id}"],
    ["look up a reservation by id", "FETCH /reservations/{reservation_id}"],
    ["send an invoice to a customer", "CREATE /invoices"],
    ["bill a client", "CREATE /invoices"],
    ["unpaid invoices", "LIST /invoices"],
    ["which bills have not been paid", "LIST /invoices"],
    ["refund a payment", "REFUND /payments/{payment_id}"],
    ["give money back to the customer", "REFUND /payments/{payment_id}"],
    ["reimburse the buyer", "REFUND /payments/{payment_id}"],
    ["where is my parcel", "TRACK /shipments/{shipment_id}"],
    ["track a package", "TRACK /shipments/{shipment_id}"],
    ["when will my delivery arrive", "TRACK /shipments/{shipment_id}"],
    ["ship an order", "SHIP /orders/{order_id}"],
    ["dispatch the goods to the customer's address", "SHIP /orders/{order_id}"],
    ["is this product in stock", "QUERY /stock/{sku}"],
    ["warehouse inventory of an item", "QUERY /stock/{sku}"],
    ["translate this text to French", "CONVERT /texts"],
    ["translation", "CONVERT /texts"],
    ["report a problem to support", "CREATE /tickets"],
    ["open a ticket", "CREATE /tickets"],
    ["hand the ticket over to a colleague", "ASSIGN /tickets/{ticket_id}"],
    ["arrange a meeting with three people", "SCHEDULE /meetings"],
    ["set up an appointment in the calendar", "SCHEDULE /meetings"],
    ["weather in Oslo tomorrow", "FORECAST /weather"],
    ["will it rain in Paris", "FORECAST /weather"],
    ["wether forcast", "FORECAST /weather"],
    ["tempreature of the city", "FORECAST /weather"],
    ["レストランの予約", "CREATE /%E4%BA%88%E7%B4%84"],
    ["propose a contract", "PROPOSE /"],
    ["notify somebody with urgency", "NOTIFY /"],
    ["which agents are there", "DISCOVER /agents"],
    ["audit records of an agent", "INSPECT /"],
  ])("for %j is %s", async (intent, pair) => {
    const [first] = await sourcesFor(intent);
    if (!first?.startsWith(`endpoint:${pair} `)) console.log(intent, "\n   ", (await sourcesFor(intent)).slice(0,4).join("\n    "));
    expect(first).toContain(`endpoint:${pair}`);
  });
});
