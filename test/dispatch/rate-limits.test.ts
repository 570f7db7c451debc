/** What one payer may take: refused first and cheaply, and nobody else's business. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openDaemon } from "../support/daemon.ts";
import {
  agentFile,
  configFile,
  type DeploymentFiles,
  endpointFile,
} from "../support/deployment.ts";
import { encodeRequest, openServer, type TestReply, type TestServer } from "../support/dispatch.ts";

const INA = "1a".repeat(32);
const REX = "2b".repeat(32);

/** Burns processor time of its own thread, where the system tells that, at once, from within or later. */
const HANDLERS = `
import { existsSync, readFileSync } from "node:fs";
const STATISTICS = "/proc/thread-self/schedstat";
const ofThread = () => Number(readFileSync(STATISTICS, "latin1").split(" ", 1)[0]) / 1e6;
const ofProcess = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};
const spentMs = existsSync(STATISTICS) ? ofThread : ofProcess;
const burn = (ms) => {
  const until = spentMs() + ms;
  while (spentMs() < until);
};
export const spin = ({ input }) => {
  burn(input.ms ?? 60);
  return { body: {} };
};
export const relay = async ({ dispatch }) => {
  await new Promise((resolve) => setImmediate(resolve));
  const { status } = await dispatch("QUERY", "/spins", {});
  return { body: { status } };
};
export const echo = ({ input }) => ({ body: input });
`;

function endpoint(path: string, name: string, properties = {}): string {
  const handler = { type: "registered_function", function: `handlers.${name}` };
  return endpointFile({ method: "QUERY", path, properties, handler });
}

function filesOf(limits: object, identity: object = {}): DeploymentFiles {
  const policies = { scope_required_for_invocation: false, identity };
  return {
    "agtp-server.toml": configFile({ limits, policies }),
    "handlers.mjs": HANDLERS,
    "agents/ina.agent.json": agentFile({ agent_id: INA, name: "ina" }),
    "agents/rex.agent.json": agentFile({ agent_id: REX, name: "rex" }),
    "endpoints/spins.toml": endpoint("/spins", "spin", { ms: { type: "integer" } }),
    "endpoints/relays.toml": endpoint("/relays", "relay"),
    "endpoints/echoes.toml": endpoint("/echoes", "echo", { number: { type: "integer" } }),
  };
}

type Ask = (
  path: string,
  agentId?: string,
  peer?: { readonly address: string },
) => Promise<TestReply>;

function asking(server: TestServer): Ask {
  return (path, agentId, peer) => {
    const headers: Record<string, string> = agentId === undefined ? {} : { "Agent-ID": agentId };
    const method = path === "/" ? "DISCOVER" : "QUERY";
    return server.send({ method, path, headers }, peer);
  };
}

const LITTLE_WORK = { work_ms_per_second: 3 };

/** Asks a server whose manifest is made: the first to ask for it pays for that. */
async function askingPrepared(files: DeploymentFiles): Promise<Ask> {
  const ask = asking(await openServer(files));
  await ask("/", undefined, { address: "203.0.113.1" });
  return ask;
}

function expectTooMuchWork(reply: TestReply): void {
  expect(reply.status).toBe(429);
  const seconds = Number(reply.headers.get("retry-after"));
  expect(seconds).toBeGreaterThanOrEqual(10);
  expect(reply.body).toMatchObject({
    scope: "work",
    retry_after_seconds: seconds,
    error: { code: "rate-limited", scope: "work", retry_after_seconds: seconds },
  });
}

// `[limits] work_ms_per_second`
describe("the work of one agent", () => {
  it("is refused beyond its share, built-ins and floor methods included", async () => {
    const ask = asking(await openServer(filesOf(LITTLE_WORK)));
    expect((await ask("/spins", INA)).status).toBe(200);
    for (const path of ["/spins", "/echoes", "/", "/nowhere"]) {
      expectTooMuchWork(await ask(path, INA));
    }
  });

  it("is neither another agent's nor nobody's, at the same address", async () => {
    const ask = await askingPrepared(filesOf(LITTLE_WORK));
    await ask("/spins", INA);
    expect((await ask("/echoes", REX)).status).toBe(200);
    expect((await ask("/")).status).toBe(200);
  });

  it("is not used up by somebody elsewhere who only says to be that agent", async () => {
    const ask = asking(await openServer(filesOf(LITTLE_WORK)));
    await ask("/spins", INA, { address: "198.51.100.9" });
    expectTooMuchWork(await ask("/echoes", INA, { address: "198.51.100.9" }));
    expect((await ask("/echoes", INA)).status).toBe(200);
  });

  it("is what its requests dispatch, too", async () => {
    const ask = asking(await openServer(filesOf(LITTLE_WORK)));
    expect((await ask("/relays", INA)).body).toMatchObject({ status: 200 });
    expectTooMuchWork(await ask("/echoes", INA));
  });

  it("is what is done for it in turns", async () => {
    const server = await openServer(filesOf(LITTLE_WORK));
    const headers = { "Agent-ID": INA };
    const body = { source: "The inn is old. A barn is red. ".repeat(6000) };
    expect((await server.send({ method: "SUMMARIZE", headers, body })).status).toBe(200);
    expect((await asking(server)("/echoes", INA)).status).toBe(429);
  });

  it("is no matter where there is no limit", async () => {
    const ask = asking(await openServer(filesOf({ work_ms_per_second: 0 })));
    for (let at = 0; at < 5; at += 1) expect((await ask("/spins", INA)).status).toBe(200);
  });

  it("is no matter for what is small, at the default rate", async () => {
    const ask = asking(await openServer(filesOf({ work_ms_per_second: 200 })));
    for (let at = 0; at < 1000; at += 1) expect((await ask("/echoes", INA)).status).toBe(200);
  });
});

describe("the work of strangers", () => {
  const files = filesOf(LITTLE_WORK, { unknown_agents: "accept" });

  it("is their address's, whatever they call themselves", async () => {
    const ask = await askingPrepared(files);
    expect((await ask("/spins", "3c".repeat(32))).status).toBe(200);
    expectTooMuchWork(await ask("/echoes", "4d".repeat(32)));
    expectTooMuchWork(await ask("/"));
    expect((await ask("/echoes", INA)).status).toBe(200);
    expect((await ask("/", undefined, { address: "198.51.100.9" })).status).toBe(200);
  });

  it("is a whole network's where addresses cost nothing", async () => {
    const ask = await askingPrepared(files);
    await ask("/spins", "3c".repeat(32), { address: "2001:db8::1" });
    expectTooMuchWork(await ask("/", undefined, { address: "2001:db8::ffff:2" }));
    expect((await ask("/", undefined, { address: "2001:db8:1::1" })).status).toBe(200);
  });

  it("is refused before anything else is looked at", async () => {
    const server = await openServer(filesOf(LITTLE_WORK));
    const ask = asking(server);
    const headers = { "Agent-ID": "3c".repeat(32) };
    expect((await ask("/echoes", headers["Agent-ID"])).status).toBe(401);
    server.kept.rates.charge("127.0.0.1", 60, performance.now());
    expectTooMuchWork(await ask("/echoes", headers["Agent-ID"]));
    expectTooMuchWork(await server.send({ method: "NONSENSE", path: "/x", body: "{" }));
  });
});

// `[limits] requests_per_second`
describe("the requests of one payer", () => {
  it("are as many as one likes by default", async () => {
    const ask = asking(await openServer(filesOf({})));
    for (let at = 0; at < 100; at += 1) expect((await ask("/")).status).toBe(200);
  });

  it("are limited where a limit is set, and pipelined ones are requests like all others", async () => {
    const server = await openServer(filesOf({ requests_per_second: 2 }));
    const request = encodeRequest({ method: "DISCOVER" });
    const replies = await server.exchange([Buffer.concat(new Array<Buffer>(20).fill(request))]);
    const refused = replies.filter(({ status }) => status === 429);
    expect(replies[0]?.status).toBe(200);
    expect(refused.length).toBeGreaterThan(0);
    for (const { headers, body } of refused) {
      expect(headers.get("retry-after")).toBe("1");
      expect(body).toMatchObject({ scope: "requests", retry_after_seconds: 1 });
    }
    expect((await asking(server)("/echoes", INA)).status).toBe(200);
  });

  it("begin no session once there are too many, so that no refusal is written down", async () => {
    const server = await openServer(filesOf({ requests_per_second: 2 }));
    const request = (session: string) =>
      encodeRequest({
        ...{ method: "QUERY", path: "/echoes" },
        headers: { "Agent-ID": INA, "Session-ID": session },
      });
    const names = Array.from({ length: 20 }, (_, index) => `s-${index}`);
    const replies = await server.exchange([Buffer.concat(names.map(request))]);
    const begun = names.map((name) => server.state.sessions.find(name) !== undefined);
    expect(begun).toEqual(replies.map(({ status }) => status === 200));
    expect(begun).toContain(true);
    expect(begun).toContain(false);
  });
});

describe("a reload", () => {
  it("holds everybody to the new limits, and forgets nothing", async () => {
    const server = await openDaemon(filesOf(LITTLE_WORK));
    const client = await server.connect();
    const status = async (path: string): Promise<number | undefined> => {
      const { length } = await client.replies(0);
      client.write(encodeRequest({ method: "QUERY", path, headers: { "Agent-ID": INA } }));
      return (await client.replies(length + 1))[length]?.status;
    };
    const limit = async (limits: object): Promise<void> => {
      const { "agtp-server.toml": config = "" } = filesOf(limits);
      writeFileSync(join(server.directory, "agtp-server.toml"), config);
      expect(await server.daemon.reload()).toEqual([]);
    };
    expect(await status("/spins")).toBe(200);
    expect(await status("/echoes")).toBe(429);
    await limit({ work_ms_per_second: 0 });
    expect(await status("/echoes")).toBe(200);
    await limit(LITTLE_WORK);
    expect(await status("/echoes")).toBe(429);
  });
});
