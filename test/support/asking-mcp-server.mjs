/**
 * A tool server of 2026-07-28 that asks before it reserves: for a seat, then whether to pay. It
 * remembers nothing between the two but what it has its client bring back.
 */
import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const RESERVE = {
  name: "reserve",
  inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
const SEAT = {
  type: "object",
  properties: { seat: { type: "string", enum: ["aisle", "window"] } },
  required: ["seat"],
};
/** As the libraries of a former dialect write it. */
const FORMER_SEAT = {
  $schema: "http://json-schema.org/draft-07/schema#",
  type: "object",
  properties: { seat: { ...SEAT.properties.seat, enumNames: ["Aisle", "Window"] } },
  required: ["seat"],
};
const PAY = { type: "object", properties: { pay: { type: "boolean" } }, required: ["pay"] };

const form = (message, requestedSchema) => ({
  method: "elicitation/create",
  params: { mode: "form", message, requestedSchema },
});
const ask = (key, request, state) => ({
  resultType: "input_required",
  inputRequests: { [key]: request },
  requestState: JSON.stringify(state),
});

function reserve({ city }, { inputResponses = {}, requestState }) {
  if (city === "Nowhere") {
    const sample = { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } };
    return ask("sample", sample, { city });
  }
  if (city === "Linked") {
    const link = { mode: "url", elicitationId: "e-1", url: "https://pay.example", message: "Pay." };
    return ask("link", { method: "elicitation/create", params: link }, { city });
  }
  if (city === "Badly") return ask("odd", form("?", { type: "object", properties: 7 }), {});
  const state = JSON.parse(requestState?.() ?? "{}");
  if (state.city === undefined) {
    const schema = city === "Troy" ? FORMER_SEAT : SEAT;
    return ask("seat", form(`Which seat? ${process.env.TOKEN ?? ""}`, schema), { city });
  }
  if (state.seat === undefined) {
    const { seat } = inputResponses.seat.content;
    return ask("pay", form("Pay now?", PAY), { ...state, seat });
  }
  const { pay } = inputResponses.pay.content;
  return { content: [{ type: "text", text: JSON.stringify({ ...state, pay }) }] };
}

serveStdio(() => {
  const server = new Server(
    { name: "seats", version: "1.0.0" },
    { capabilities: { tools: {} }, requestState: { verify: (state) => state } },
  );
  server.setRequestHandler("tools/list", () => ({ tools: [RESERVE] }));
  server.setRequestHandler("tools/call", ({ params }, { mcpReq }) =>
    reserve(params.arguments ?? {}, mcpReq),
  );
  return server;
});
