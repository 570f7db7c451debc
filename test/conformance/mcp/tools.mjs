// Tools by the names that MCP's own suite asks for, with the answers that it wants.

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const SILENCE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

export const text = () => ({ body: "This is a simple text response for testing." });

export const image = () => ({
  body: Buffer.from(PIXEL, "base64"),
  headers: { "Content-Type": "image/png" },
});

export const audio = () => ({
  body: Buffer.from(SILENCE, "base64"),
  headers: { "Content-Type": "audio/wav" },
});

export const resource = () => ({
  body: {
    content: [
      {
        type: "resource",
        resource: {
          uri: "test://embedded-resource",
          mimeType: "text/plain",
          text: "This is an embedded resource content.",
        },
      },
    ],
  },
});

export const mixed = () => ({
  body: {
    content: [
      { type: "text", text: "Multiple content types test:" },
      { type: "image", data: PIXEL, mimeType: "image/png" },
      {
        type: "resource",
        resource: {
          uri: "test://mixed-content-resource",
          mimeType: "application/json",
          text: '{"test":"data","value":123}',
        },
      },
    ],
  },
});

export const logging = ({ log }) => {
  log.info({ tool: "test_logging_tool" }, "what a handler logs is the operator's");
  return { body: "logged" };
};

export const fail = () => ({
  error: "failed",
  message: "This tool intentionally returns an error for testing",
});

export const progress = async (call) => {
  for (let step = 0; step < 3; step += 1) await call.dispatch("QUERY", "/text", {});
  return { body: "done" };
};

export const slow = async () => {
  await new Promise((resolve) => setTimeout(resolve, 100));
  return { body: "done" };
};
