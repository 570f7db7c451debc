/**
 * The library's server with its request handlers: the caller supplies those for tools, resources and tasks; the rest
 * is common to every server.   MCP "Base Protocol"
 */
import type {
  CallToolRequest,
  CallToolResult,
  Implementation,
  jsonSchemaValidator,
  ListToolsResult,
  ReadResourceResult,
  Resource,
  Server,
  ServerCapabilities,
  ServerContext,
  StandardSchemaV1,
} from "@modelcontextprotocol/server";
import { markedOf } from "../../base/exact-numbers.ts";
import { OpaqueServer, type ReportThrown, schemaOf, withText } from "./opaque-server.ts";
import { invalidParams } from "./protocol-errors.ts";
import { type ClientTasks, handleTasks, TASKS_EXTENSION } from "./tasks/task-requests.ts";

interface ServerAnswers {
  readonly report: ReportThrown;
  list(
    cursor: string | undefined,
    context: ServerContext,
  ): ListToolsResult | Promise<ListToolsResult>;
  call(
    params: CallToolRequest["params"],
    context: ServerContext,
    server: Server,
  ): CallToolResult | Promise<CallToolResult>;
  resources(): Resource[] | Promise<Resource[]>;
  read(uri: string, context: ServerContext): Promise<ReadResourceResult>;
  tasksOf(context: ServerContext): ClientTasks;
}

/** The capabilities in both protocols. */
const CAPABILITIES: ServerCapabilities = {
  ...{ tools: { listChanged: true }, resources: {}, completions: {} },
};
const CURRENT: ServerCapabilities = { ...CAPABILITIES, extensions: { [TASKS_EXTENSION]: {} } };
/** The older protocol has logging, which is deprecated in the current one. */
const OLDER: ServerCapabilities = { ...CAPABILITIES, logging: {} };

/** Makes a server of the current protocol or of the older one; its messages must pass through `restoreLost`. */
export function createAnsweringServer(
  info: Implementation,
  isCurrent: boolean,
  answers: ServerAnswers,
): Server {
  const capabilities = isCurrent ? CURRENT : OLDER;
  const options = { capabilities, jsonSchemaValidator: SCHEMAS_UNUSED };
  const server = new OpaqueServer(info, options, answers.report);
  server.setRequestHandler("tools/list", { params: LIST_PARAMS }, ({ cursor }, context) =>
    answers.list(cursor, context),
  );
  server.setRequestHandler("tools/call", async ({ params }, context) =>
    withMarks(await answers.call(params, context, server)),
  );
  server.setRequestHandler("resources/list", { params: LIST_PARAMS }, async ({ cursor }) => {
    refuseCursor(cursor);
    return { resources: await answers.resources() };
  });
  server.setRequestHandler("resources/templates/list", { params: LIST_PARAMS }, ({ cursor }) => {
    refuseCursor(cursor);
    return { resourceTemplates: [] };
  });
  server.setRequestHandler("resources/read", { params: withText("uri") }, ({ uri }, context) =>
    answers.read(uri, context),
  );
  // Nothing is offered for completion, but clients that ask are answered.
  server.setRequestHandler("completion/complete", { params: ANY_PARAMS }, () => ({
    completion: { values: [], total: 0, hasMore: false },
  }));
  if (isCurrent) handleTasks(server, (context) => answers.tasksOf(context));
  return server;
}

/** Replaces the numbers that the library would round by marked strings; they are restored as the message leaves. */
function withMarks(result: CallToolResult): CallToolResult {
  const { structuredContent } = result;
  if (structuredContent === undefined) return result;
  return { ...result, structuredContent: markedOf(structuredContent) as typeof structuredContent };
}

/** The library makes a validator per server unless it is given one; none is used for a user's answer. */
const SCHEMAS_UNUSED: jsonSchemaValidator = {
  getValidator: () => {
    throw new Error("the library is not asked to judge by a schema");
  },
};

/**
 * Accepts any parameters, as a schema for the library. Invalid parameters become -32602; the library's own schemas
 * would report them as a fault of this server.
 */
const ANY_PARAMS: StandardSchemaV1 = schemaOf(() => undefined);

const LIST_PARAMS: StandardSchemaV1<unknown, { readonly cursor?: string }> = schemaOf(
  ({ cursor }) =>
    cursor === undefined || typeof cursor === "string" ? undefined : "cursor must be a string",
);

/** Refuses every cursor, for a list with a single page. */
function refuseCursor(cursor: string | undefined): void {
  if (cursor !== undefined) throw invalidParams("cursor must be a cursor that this server gave");
}
