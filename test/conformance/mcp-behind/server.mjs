/**
 * A server by MCP's library that has the tools which MCP's own suite asks for, each with the answer that
 * the suite wants of it. It is put behind a daemon, to be judged through it.
 */
import { setTimeout as pause } from "node:timers/promises";
import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const SILENCE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";
const DIALECT = "https://json-schema.org/draft/2020-12/schema";

const said = (text) => ({ content: [{ type: "text", text }] });
const asText = (value) => said(JSON.stringify(value));
const picture = { type: "image", data: PIXEL, mimeType: "image/png" };
const attached = (uri, mimeType, text) => ({ type: "resource", resource: { uri, mimeType, text } });

const form = (message, properties, required = []) => ({
  method: "elicitation/create",
  params: { mode: "form", message, requestedSchema: { type: "object", properties, required } },
});
const text = { type: "string" };
const ASK_NAME = form("What is your name?", { name: text }, ["name"]);
const SAMPLE = {
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: { type: "text", text: "Hello" } }], maxTokens: 10 },
};
const ROOTS = { method: "roots/list" };

/** Asks once, and says what was answered. */
const asking =
  (requests, requestState) =>
  (_, { inputResponses }) =>
    inputResponses === undefined
      ? {
          ...{ resultType: "input_required", inputRequests: requests },
          ...(requestState === undefined ? {} : { requestState }),
        }
      : asText(inputResponses);

const DEFAULTS = {
  name: { type: "string", default: "John Doe" },
  age: { type: "integer", default: 30 },
  score: { type: "number", default: 95.5 },
  status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
  verified: { type: "boolean", default: true },
};
const CHOICES = ["one", "two", "three"];
const TITLED = CHOICES.map((value) => ({ const: value, title: value.toUpperCase() }));
const ENUMS = {
  untitledSingle: { type: "string", enum: CHOICES },
  titledSingle: { type: "string", oneOf: TITLED },
  legacyEnum: { type: "string", enum: CHOICES, enumNames: CHOICES },
  untitledMulti: { type: "array", items: { type: "string", enum: CHOICES } },
  titledMulti: { type: "array", items: { anyOf: TITLED } },
};

const FORM_2020 = {
  $schema: DIALECT,
  type: "object",
  $defs: {
    address: { $anchor: "addressDef", type: "object", properties: { street: text, city: text } },
  },
  properties: {
    name: text,
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: text,
    email: text,
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};
const HEADER = {
  type: "object",
  properties: { region: { type: "string", "x-mcp-header": "Region" }, level: { type: "integer" } },
};

async function progress(_, { _meta, notify }) {
  const { progressToken } = _meta ?? {};
  for (const step of [0, 50, 100]) {
    const params = { progressToken, progress: step, total: 100, message: `step ${step}` };
    if (progressToken !== undefined) await notify({ method: "notifications/progress", params });
    await pause(50);
  }
  return said("done");
}

async function logging(_, { notify }) {
  const params = { level: "info", data: "working" };
  await notify({ method: "notifications/message", params }).catch(() => undefined);
  return said("logged");
}

/** Name, what it does, and the schema of what it takes. */
const TOOLS = new Map([
  ["test_simple_text", [() => said("This is a simple text response for testing.")]],
  ["test_image_content", [() => ({ content: [picture] })]],
  [
    "test_audio_content",
    [() => ({ content: [{ type: "audio", data: SILENCE, mimeType: "audio/wav" }] })],
  ],
  [
    "test_embedded_resource",
    [() => ({ content: [attached("test://embedded-resource", "text/plain", "An embedded one.")] })],
  ],
  [
    "test_multiple_content_types",
    [
      () => ({
        content: [
          { type: "text", text: "Of several kinds:" },
          picture,
          attached("test://mixed-content-resource", "application/json", '{"test":"data"}'),
        ],
      }),
    ],
  ],
  ["test_tool_with_logging", [logging]],
  ["test_logging_tool", [logging]],
  ["test_tool_with_progress", [progress]],
  [
    "test_error_handling",
    [() => ({ ...said("This tool intentionally returns an error for testing"), isError: true })],
  ],
  [
    "test_reconnection",
    [
      async () => {
        await pause(100);
        return said("done");
      },
    ],
  ],
  ["json_schema_2020_12_tool", [(input) => asText(input), FORM_2020]],
  ["test_x_mcp_header", [(input) => asText(input), HEADER]],
  ["test_sampling", [asking({ sample: SAMPLE })]],
  ["test_missing_capability", [asking({ sample: SAMPLE })]],
  ["test_elicitation", [asking({ name: ASK_NAME })]],
  ["test_streaming_elicitation", [asking({ name: ASK_NAME })]],
  ["test_elicitation_sep1034_defaults", [asking({ form: form("Is this right?", DEFAULTS) })]],
  ["test_elicitation_sep1330_enums", [asking({ form: form("Which?", ENUMS) })]],
  ["test_input_required_result_elicitation", [asking({ user_name: ASK_NAME })]],
  ["test_input_required_result_sampling", [asking({ capital_question: SAMPLE })]],
  ["test_input_required_result_list_roots", [asking({ client_roots: ROOTS })]],
  ["test_input_required_result_request_state", [asking({ confirm: ASK_NAME }, "state")]],
  ["test_input_required_result_tampered_state", [asking({ confirm: ASK_NAME }, "state")]],
  [
    "test_input_required_result_multiple_inputs",
    [asking({ user_name: ASK_NAME, greeting: SAMPLE, client_roots: ROOTS }, "state")],
  ],
  ["test_input_required_result_multi_round", [asking({ step1: ASK_NAME }, "round 1")]],
  ["test_input_required_result_capabilities", [asking({ user_name: ASK_NAME })]],
]);

serveStdio(() => {
  const server = new Server(
    { name: "fixture", version: "1.0.0" },
    { capabilities: { tools: {}, logging: {} }, requestState: { verify: (state) => state } },
  );
  const tools = [...TOOLS].map(([name, [, inputSchema = { type: "object" }]]) => ({
    ...{ name, description: `${name} of the suite`, inputSchema },
  }));
  server.setRequestHandler("tools/list", () => ({ tools }));
  server.setRequestHandler("tools/call", ({ params }, { mcpReq }) => {
    const [run] = TOOLS.get(params.name) ?? [() => ({ ...said("no such tool"), isError: true })];
    return run(params.arguments ?? {}, mcpReq);
  });
  return server;
});
