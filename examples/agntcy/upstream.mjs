/** An agent behind the Agent Connect Protocol: it says again what it is told. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { json } from "node:stream/consumers";

const { metadata, specs } = JSON.parse(
  readFileSync(new URL("agents/agntcy/echo.json", import.meta.url)),
);
const agent_id = "0b1c2d3e-0000-4000-8000-000000000001";
const runs = new Map();

function answer(line, input) {
  if (line === "POST /agents/search") return [{ agent_id, metadata }];
  if (line === `GET /agents/${agent_id}/descriptor`) return { metadata, specs };
  if (line === "POST /runs") {
    const now = new Date().toISOString();
    const run_id = crypto.randomUUID();
    const times = { created_at: now, updated_at: now };
    const run = { run_id, agent_id, thread_id: run_id, creation: input, ...times };
    runs.set(run_id, { ...run, status: "success" });
    return { ...run, status: "pending" };
  }
  const [, id, wait] = /^GET \/runs\/([\w-]+)(\/wait)?$/.exec(line) ?? [];
  const run = runs.get(id);
  const output = { type: "result", values: run?.creation.input };
  return run && (wait ? { run, output } : run);
}

export async function start({ cert, key }) {
  const server = createServer({ cert, key }, async (request, response) => {
    const input = request.method === "POST" ? await json(request).catch(() => ({})) : {};
    const body = answer(`${request.method} ${request.url.split("?")[0]}`, input);
    response.writeHead(body ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(body ?? { detail: "Not Found" }));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return { ORG_EXAMPLE_ECHO_ENDPOINT: `https://localhost:${server.address().port}` };
}
