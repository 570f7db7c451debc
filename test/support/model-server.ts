/** A server of chat completions over HTTP or HTTPS, which answers what a test tells it to. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { TestCertificate } from "./certificate.ts";

/** A request, as it was received. */
interface ModelRequest {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: ModelRequestBody;
}

interface ModelRequestBody {
  readonly model: string;
  readonly messages: readonly Readonly<Record<string, unknown>>[];
  readonly tools?: readonly {
    readonly function: { readonly name: string; readonly parameters: object };
  }[];
  readonly stream: boolean;
  readonly [member: string]: unknown;
}

/** Answers one request. */
export type ModelAnswer = (response: ServerResponse, request: ModelRequest) => void;

/** The server, and what it was asked. */
export interface TestModelServer {
  readonly baseUrl: string;
  readonly requests: readonly ModelRequest[];
}

/** Starts one for the running test; its answers are given in their order, the last one for ever. */
export function startModelServer(...answers: readonly ModelAnswer[]): Promise<TestModelServer> {
  return start(answers, undefined);
}

/** The same over HTTPS. */
export function startSecureModelServer(
  certificate: TestCertificate,
  ...answers: readonly ModelAnswer[]
): Promise<TestModelServer> {
  return start(answers, certificate);
}

async function start(
  answers: readonly ModelAnswer[],
  certificate: TestCertificate | undefined,
): Promise<TestModelServer> {
  const requests: ModelRequest[] = [];
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    void readRequest(request).then((read) => {
      requests.push(read);
      const answer = answers[Math.min(requests.length, answers.length) - 1];
      if (answer === undefined) response.destroy();
      else answer(response, read);
    });
  };
  const server =
    certificate === undefined ? createServer(handle) : createSecureServer(certificate, handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const scheme = certificate === undefined ? "http" : "https";
  return { baseUrl: `${scheme}://127.0.0.1:${port}/v1`, requests };
}

async function readRequest(request: IncomingMessage): Promise<ModelRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return {
    path: request.url ?? "",
    authorization: request.headers.authorization,
    body: JSON.parse(Buffer.concat(chunks).toString("utf8")) as ModelRequestBody,
  };
}

/** A whole document. */
export function json(body: unknown): ModelAnswer {
  return (response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(body));
  };
}

/** A completion with these words, as one document. */
export function says(content: unknown, more: object = {}): ModelAnswer {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  const message = { role: "assistant", content: text, ...more };
  const usage = { prompt_tokens: 10, completion_tokens: 5 };
  return json({ choices: [{ index: 0, message, finish_reason: "stop" }], usage });
}

/** A completion that asks for calls of functions, by name, with arguments as a model writes them. */
export function callsFor(
  ...calls: readonly (readonly [name: string, args: unknown])[]
): ModelAnswer {
  const tool_calls = calls.map(([name, args], index) => ({
    id: `call-${index}`,
    type: "function",
    function: { name, arguments: typeof args === "string" ? args : JSON.stringify(args) },
  }));
  return says("", { content: null, tool_calls });
}

/** A status without words. */
export function status(code: number, headers: Readonly<Record<string, string>> = {}): ModelAnswer {
  return (response) => {
    response.writeHead(code, headers);
    response.end("the words of an error with sk-canary-rfc0064-do-not-leak-xyz789 in them");
  };
}

/** A stream of events with these pieces of a choice's delta. */
export function streams(
  pieces: readonly object[],
  { isCut = false, isDone = true }: { readonly isCut?: boolean; readonly isDone?: boolean } = {},
): ModelAnswer {
  return (response) => {
    response.setHeader("content-type", "text/event-stream; charset=utf-8");
    response.write(": hello\n\n");
    for (const delta of pieces) {
      const choice = { index: 0, delta, finish_reason: null };
      response.write(`data: ${JSON.stringify({ choices: [choice] })}\r\n\r\n`);
    }
    if (isCut) {
      // What was written before has to be on its way.
      response.write(": bye\n\n", () => response.destroy());
      return;
    }
    const usage = { prompt_tokens: 7, completion_tokens: 3 };
    const last = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
    response.write(`data: ${JSON.stringify(last)}\n\n`);
    response.write(`data: ${JSON.stringify({ choices: [], usage })}\n\n`);
    response.end(isDone ? "data: [DONE]\n\n" : "");
  };
}
