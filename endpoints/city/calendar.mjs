/**
 * The city's event calendar: an MCP server on standard input and output, as a vendor might ship one.
 * It knows nothing of AGTP; `events.toml` says under what contract agents may ask it.
 */
import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const EVENTS = [
  { day: "2030-05-04", title: "Harbour concert", place: "Old Pier", is_free: true },
  { day: "2030-05-04", title: "Night market", place: "Fish Hall", is_free: true },
  { day: "2030-05-05", title: "Regatta", place: "Outer Harbour", is_free: true },
  { day: "2030-05-06", title: "Chamber music", place: "Town Hall", is_free: false },
];

const FIND_EVENTS = {
  name: "find_events",
  title: "Find events",
  description: "Finds what is on in the city on the days of a stay.",
  inputSchema: {
    type: "object",
    properties: {
      from: { type: "string", format: "date", description: "The first day" },
      until: { type: "string", format: "date", description: "The last day" },
    },
    required: ["from", "until"],
    additionalProperties: false,
  },
  outputSchema: {
    type: "object",
    properties: {
      events: {
        type: "array",
        items: {
          type: "object",
          properties: {
            day: { type: "string", format: "date" },
            title: { type: "string" },
            place: { type: "string" },
            is_free: { type: "boolean" },
          },
          required: ["day", "title", "place", "is_free"],
        },
      },
    },
    required: ["events"],
  },
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
};

serveStdio(() => {
  const server = new Server(
    { name: "city-calendar", version: "1.0.0" },
    { capabilities: { tools: {} } },
  );
  server.setRequestHandler("tools/list", () => ({ tools: [FIND_EVENTS] }));
  server.setRequestHandler("tools/call", ({ params: { arguments: args = {} } }) => {
    const events = EVENTS.filter(
      ({ day }) => day >= String(args.from) && day <= String(args.until),
    );
    const structuredContent = { events };
    return {
      content: [{ type: "text", text: JSON.stringify(structuredContent) }],
      structuredContent,
    };
  });
  return server;
});
