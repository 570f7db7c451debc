/** The names of the attributes of spans. None of their values is an input, an output or a secret. */

export const ATTRIBUTES = {
  /** A method of the catalog. */
  method: "agtp.method",
  /** The template of the path; the path that was called may hold ids. */
  path: "agtp.path",
  status: "agtp.status",
  /** The code of a refusal, `error.code` in its body. */
  error: "agtp.error",
  /** The gate that refused, by its name. */
  gate: "agtp.gate",
  agentId: "agtp.agent_id",
  auditId: "agtp.audit_id",
  /** The tier of the endpoint: A, B or C. */
  tier: "agtp.tier",
  synthesisId: "agtp.synthesis_id",
  /** The type of a handler: a function, a process, a composition, an API, a tool. */
  handler: "agtp.handler",
  httpMethod: "http.request.method",
  httpStatus: "http.response.status_code",
  serverAddress: "server.address",
  serverPort: "server.port",
  errorType: "error.type",
  mcpMethod: "mcp.method.name",
  toolName: "gen_ai.tool.name",
  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  model: "gen_ai.request.model",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  /** The operator's name for the other side of a call. */
  peer: "agtp.upstream",
} as const;
