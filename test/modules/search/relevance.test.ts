/** Natural intents, and the endpoint that each of them means. */
import { describe, expect, it } from "vitest";
import { shareServer } from "../../support/dispatch.ts";
import { CLERK, corpusFiles, GUEST } from "../../support/search-corpus.ts";

const server = shareServer(corpusFiles());

interface Found {
  readonly source: string;
  readonly confidence: number;
}

async function find(intent: string, more: object = {}): Promise<readonly Found[]> {
  const { body } = await server().send({
    method: "QUERY",
    headers: { "Agent-ID": CLERK },
    body: { intent, ...more },
  });
  return body["result"]?.["results"] as unknown as readonly Found[];
}

// AGTP "QUERY"
describe("the best result", () => {
  it.each([
    ["book a room", "BOOK /rooms/{room_type}"],
    ["book a double room for two nights", "BOOK /rooms/{room_type}"],
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
    ["which agents are there", "DISCOVER /agents"],
    ["audit records of an agent", "INSPECT /"],
  ])("for %j is %s", async (intent, pair) => {
    const [first] = await find(intent);
    expect(first?.source).toBe(`endpoint:${pair}`);
  });

  it.each([
    // One word.
    ["refund", "REFUND /payments/{payment_id}"],
    ["meeting", "SCHEDULE /meetings"],
    ["stock", "QUERY /stock/{sku}"],
    ["parcel", "TRACK /shipments/{shipment_id}"],
    // A sentence.
    ["we would like to know how many pieces of this article you have", "QUERY /stock/{sku}"],
    ["can you say where the parcel is and when it arrives", "TRACK /shipments/{shipment_id}"],
    ["the customer has a problem and needs somebody from support", "CREATE /tickets"],
    ["could you invite the participants to a meeting on Monday", "SCHEDULE /meetings"],
    // Misspelt.
    ["refnd the paymant", "REFUND /payments/{payment_id}"],
    ["trak my shippment", "TRACK /shipments/{shipment_id}"],
    ["shedule a meetting", "SCHEDULE /meetings"],
    ["cancell the resrvation", "CANCEL /reservations/{reservation_id}"],
    ["wearhouse", "QUERY /stock/{sku}"],
    // The beginning of a word.
    ["forec", "FORECAST /weather"],
    ["transl", "CONVERT /texts"],
    ["warehou", "QUERY /stock/{sku}"],
    ["participa", "SCHEDULE /meetings"],
    // A word for another one.
    ["repay", "REFUND /payments/{payment_id}"],
    ["appointment", "SCHEDULE /meetings"],
    ["translation of a text", "CONVERT /texts"],
    ["withdraw a reservation", "CANCEL /reservations/{reservation_id}"],
    ["book some lodging", "BOOK /rooms/{room_type}"],
  ])("for %j, one of many kinds of question, is %s", async (intent, pair) => {
    const [first] = await find(intent);
    expect(first?.source).toBe(`endpoint:${pair}`);
  });

  it.each<readonly [string, object, string]>([
    ["reservation", { impact: "informational" }, "FETCH /reservations/{reservation_id}"],
    ["reservation", { impact: "irreversible" }, "CANCEL /reservations/{reservation_id}"],
    ["customer", { namespace: "support" }, "CREATE /tickets"],
    ["customer", { capability: "creation", namespace: "billing" }, "CREATE /invoices"],
    ["customer order", { method: "SHIP" }, "SHIP /orders/{order_id}"],
    ["invoice", { path: "/payments" }, ""],
  ])("for %j under a filter %j is %s", async (intent, filter, pair) => {
    const [first] = await find(intent, { filter });
    expect(first?.source ?? "endpoint:").toBe(`endpoint:${pair}`);
  });

  it.each([
    ["clerk", CLERK],
    ["works through orders and invoices", CLERK],
    ["looks around", GUEST],
  ])("among agents for %j is the one", async (intent, agentId) => {
    const [first] = await find(intent, { scope: "agents" });
    expect(first?.source).toBe(`agent:${agentId}`);
  });

  it("for the description of an agent is the agent", async () => {
    const [first] = await find("back office clerk");
    expect(first?.source).toBe(`agent:${CLERK}`);
  });
});

describe("confidence", () => {
  it("is 1 for the words of the endpoint itself, and less for fewer of them", async () => {
    const [own] = await find("Reserve a room of one type for a guest.");
    expect(own).toMatchObject({ confidence: 1 });
    const [half] = await find("Reserve a room of one type for a guest on Mars with a telescope");
    expect(half?.confidence).toBeLessThan(1);
    expect(half?.source).toBe(own?.source);
  });

  it("is less for a slip of the pen than for the word, and less for a synonym", async () => {
    const [exact] = await find("forecast");
    const [slip] = await find("forcast");
    const [synonym] = await find("temperature prediction");
    expect(exact?.confidence).toBe(1);
    expect(slip?.confidence).toBeLessThan(1);
    expect(synonym?.confidence).toBeLessThan(0.7);
  });

  it("never rises from one result to the next", async () => {
    for (const intent of ["book a room", "customer", "order ticket invoice", "a b c d e", "*"]) {
      const values = (await find(intent)).map(({ confidence }) => confidence);
      expect(values).toEqual(values.toSorted((one, other) => other - one));
      for (const value of values) expect(value).toBeGreaterThan(0);
    }
  });

  it("is the same every time", async () => {
    expect(await find("customer order")).toEqual(await find("customer order"));
    expect(await find("order customer")).toEqual(await find("customer order order"));
  });

  it("is for nothing where nothing fits", async () => {
    for (const intent of ["zxqv", "quantum chromodynamics", "?!…", "🙂", "the of and"]) {
      expect(await find(intent), intent).toEqual([]);
    }
  });
});
