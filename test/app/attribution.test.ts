/** Attribution of a daemon in a process of its own: under concurrency, after kill -9, from outside. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { type RunningProgram, startProgram } from "../support/agtpd.ts";
import { askOnce, openDaemon, type RawClient } from "../support/daemon.ts";
import { type DeploymentFiles, makeDeployment } from "../support/deployment.ts";
import { encodeRequest, type TestReply } from "../support/dispatch.ts";
import { ALICE, BOB, CAROL, hostedFiles } from "../support/hosted-agents.ts";
import { PATIENCE } from "../support/patience.ts";
import { isSigned, type ReadRecord, readJournal, recordOf, walkChain } from "../support/records.ts";

const HANDLERS = "export const echo = ({ input }) => ({ body: input });";

/** The same, at some time within the next milliseconds. */
const LATE_HANDLERS = `
export const echo = ({ input }) =>
  new Promise((resolve) => setTimeout(() => resolve({ body: input }), Math.random() * 3));
`;

const PRIVATE_KEY = generateKeyPairSync("ed25519").privateKey.export({
  type: "pkcs8",
  format: "pem",
});
const PUBLIC_KEY: KeyObject = createPublicKey(createPrivateKey(PRIVATE_KEY));

function signedFiles(files: DeploymentFiles = {}): DeploymentFiles {
  const identity = { lifecycle_auth: "open", inspect_acl: "public" };
  return hostedFiles(
    identity,
    { signing: { key: "signing.pem" } },
    { "handlers.mjs": HANDLERS, "signing.pem": String(PRIVATE_KEY), ...files },
  );
}

function bytes(agent: string, method = "QUERY", path = "/lists", body: object = {}): Buffer {
  return encodeRequest({ method, path, headers: { "Agent-ID": agent }, body });
}

/** How many answers came on all connections together. */
class Tally {
  #count = 0;
  readonly #waiting: { readonly count: number; readonly resolve: () => void }[] = [];

  add(count: number): void {
    this.#count += count;
    for (const one of this.#waiting) if (this.#count >= one.count) one.resolve();
  }

  reached(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ count, resolve });
      this.add(0);
    });
  }
}

/** Asks and asks, a few requests at a time, until the connection is gone. */
async function askOn(
  client: RawClient,
  agent: string,
  tally: Tally,
): Promise<readonly TestReply[]> {
  for (let count = 0; ; ) {
    const batch = 1 + (count % 4);
    for (let more = 0; more < batch; more += 1) client.write(bytes(agent));
    count += batch;
    const replies = await client.replies(count);
    if (replies.length < count) return replies;
    tally.add(batch);
  }
}

/** Asks so many times, and waits for the answers. */
async function ask(client: RawClient, agent: string, count: number): Promise<readonly TestReply[]> {
  for (let more = 0; more < count; more += 1) client.write(bytes(agent));
  return client.replies(count);
}

function connectAll(
  daemon: Pick<RunningProgram, "connect">,
  count: number,
): Promise<readonly RawClient[]> {
  return Promise.all(Array.from({ length: count }, () => daemon.connect()));
}

function checkRecords(replies: readonly TestReply[], agent: string): readonly string[] {
  return replies.map((reply) => {
    const record = recordOf(reply);
    expect(reply.headers.get("audit-id")).toBe(record.auditId);
    expect(record.payload["agent_id"]).toBe(agent);
    expect(record.payload["response_id"]).toBe(reply.headers.get("response-id"));
    return record.auditId;
  });
}

/** The chain of an agent in the journal, checked as far as somebody outside can. */
function checkChain(directory: string, agent: string): readonly ReadRecord[] {
  const chain = walkChain(readJournal(join(directory, ".agtp/journal")), agent);
  for (const { jws } of chain) expect(isSigned(jws, PUBLIC_KEY)).toBe(true);
  const times = chain.map(({ payload }) => String(payload["issued_at"]));
  expect(times).toEqual(times.toSorted());
  return chain;
}

async function headOf(daemon: RunningProgram, agent: string): Promise<unknown> {
  const body = { target: "chain_head", agent_id: agent };
  const reply = await askOnce(daemon, { method: "INSPECT", body });
  return reply?.body["result"]?.["audit_id"];
}

// AGTP-IDENTIFIERS "Attribution Chain"
describe("the chains of a daemon", () => {
  it("stay whole under many callers, over a kill -9 and a restart", async () => {
    const { configPath, directory } = makeDeployment(signedFiles());
    const received = new Map<string, string[]>([
      [ALICE, []],
      [BOB, []],
    ]);
    const keep = (agent: string, replies: readonly TestReply[]): void => {
      received.get(agent)?.push(...checkRecords(replies, agent));
    };
    for (let round = 1; round <= 2; round += 1) {
      const daemon = await startProgram(configPath);
      const clients = await connectAll(daemon, 60);
      const tally = new Tally();
      const asked = clients.map(async (client, index) => {
        const agent = index < 50 ? ALICE : BOB;
        keep(agent, await askOn(client, agent, tally));
      });
      await tally.reached(600);
      daemon.child.kill("SIGKILL");
      await Promise.all(asked);
      await daemon.outcome;
    }
    const daemon = await startProgram(configPath);
    const clients = await connectAll(daemon, 50);
    const rest = clients.map(async (client) => keep(ALICE, await ask(client, ALICE, 4)));
    await Promise.all(rest);
    const heads = [await headOf(daemon, ALICE), await headOf(daemon, BOB)];
    daemon.child.kill("SIGTERM");
    expect((await daemon.outcome).code).toBe(0);

    for (const [index, agent] of [ALICE, BOB].entries()) {
      const chain = checkChain(directory, agent).map(({ auditId }) => auditId);
      const known = new Set(chain);
      const ids = received.get(agent) ?? [];
      expect(ids.length).toBeGreaterThan(20);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.filter((id) => !known.has(id))).toEqual([]);
      expect(chain.at(-1)).toBe(heads[index]);
    }
  });

  it("have the answers of one connection in the order in which they left", async () => {
    const files = signedFiles({ "handlers.mjs": LATE_HANDLERS });
    const { directory, connect } = await openDaemon(files);
    const clients = await connectAll({ connect }, 10);
    const replies = await Promise.all(clients.map((client) => ask(client, ALICE, 20)));
    const chain = checkChain(directory, ALICE).map(({ auditId }) => auditId);
    for (const own of replies) {
      const places = checkRecords(own, ALICE).map((id) => chain.indexOf(id));
      expect(places).not.toContain(-1);
      expect(places).toEqual(places.toSorted((left, right) => left - right));
    }
  });

  it("leave nothing but private files behind", async () => {
    const { configPath, directory } = makeDeployment(signedFiles());
    const daemon = await startProgram(configPath);
    await ask(await daemon.connect(), ALICE, 3);
    daemon.child.kill("SIGTERM");
    await daemon.outcome;
    const journal = join(directory, ".agtp/journal");
    for (const name of readdirSync(journal)) {
      expect([name, statSync(join(journal, name)).mode & 0o077]).toEqual([name, 0]);
    }
  });

  it("stay whole when the daemon is reloaded under load", async () => {
    const deployment = makeDeployment(signedFiles());
    const daemon = await startProgram(deployment.configPath);
    const clients = await connectAll(daemon, 20);
    const tally = new Tally();
    const asked = clients.map((client) => askOn(client, ALICE, tally));
    for (let reload = 1; reload <= 3; reload += 1) {
      await tally.reached(reload * 200);
      daemon.child.kill("SIGHUP");
      await daemon.line("reloaded");
    }
    for (const client of clients) client.destroy();
    const replies = (await Promise.all(asked)).flat();
    daemon.child.kill("SIGTERM");
    await daemon.outcome;
    const chain = checkChain(deployment.directory, ALICE).map(({ auditId }) => auditId);
    const known = new Set(chain);
    expect(checkRecords(replies, ALICE).filter((id) => !known.has(id))).toEqual([]);
  });
});

const CAN_LIFT_LIMITS = spawnSync("prlimit", ["--version"]).status === 0;

describe("a journal that the disk has no room for", () => {
  it.skipIf(!CAN_LIFT_LIMITS)(
    "takes no reply with it, and goes on when there is room",
    async () => {
      const { configPath, directory } = makeDeployment(signedFiles());
      const daemon = await startProgram(configPath, { before: "ulimit -S -f 64" });
      const segment = join(directory, ".agtp/journal/00000001.jws");
      const kept: TestReply[] = [];
      const send = async (agent: string): Promise<TestReply | undefined> => {
        const client = await daemon.connect();
        client.write(bytes(agent));
        return (await client.replies(1))[0];
      };
      let last = await send(ALICE);
      for (; last?.status === 200; last = await send(ALICE)) kept.push(last);
      // The first reply whose record did not fit was not sent: it may have been done.
      expect(last).toMatchObject({ status: 503, body: { error: { code: "outcome-unknown" } } });
      // It is logged as what was sent.
      await vi.waitFor(() => {
        const statuses = daemon.log.flatMap((line) =>
          line["event"] === "request" ? line["status"] : [],
        );
        expect(statuses).toEqual([...kept.map(({ status }) => status), 503]);
      }, PATIENCE);
      expect(last?.headers.has("attribution-record")).toBe(false);
      const refused = await send(ALICE);
      expect([refused?.status, refused?.body["error"]?.["code"]]).toEqual([
        503,
        "attribution-unavailable",
      ]);
      const client = await daemon.connect();
      client.write(encodeRequest({ method: "DISCOVER" }));
      expect((await client.replies(1)).map(({ status }) => status)).toEqual([200]);
      expect(readFileSync(segment, "latin1").endsWith("\n")).toBe(true);

      execFileSync("prlimit", ["--pid", String(daemon.child.pid), "--fsize=unlimited"]);
      const again = await vi.waitFor(async () => {
        const reply = await send(ALICE);
        if (reply?.status !== 200) throw new Error("not yet");
        return reply;
      }, PATIENCE);
      kept.push(again);
      daemon.child.kill("SIGTERM");
      expect((await daemon.outcome).code).toBe(0);
      const chain = checkChain(directory, ALICE).map(({ auditId }) => auditId);
      expect(chain).toEqual(checkRecords(kept, ALICE));
    },
  );
});

// AGTP "Agent Lifecycle"
describe("the lifecycle of a daemon's agents", () => {
  it("is where it was after a kill -9, and after the store is deleted", async () => {
    const { configPath, directory } = makeDeployment(signedFiles());
    const change = async (daemon: RunningProgram, method: string, agent_id: string) => {
      const client = await daemon.connect();
      client.write(bytes(CAROL, method, "/", { agent_id, reason: "a test" }));
      return (await client.replies(1))[0]?.status;
    };
    const statuses = async (daemon: RunningProgram) => {
      const client = await daemon.connect();
      for (const agent of [ALICE, BOB]) client.write(bytes(agent));
      return (await client.replies(2)).map(({ status }) => status);
    };
    let daemon = await startProgram(configPath);
    expect(await change(daemon, "REVOKE", ALICE)).toBe(200);
    expect(await change(daemon, "DEACTIVATE", BOB)).toBe(200);
    daemon.child.kill("SIGKILL");
    await daemon.outcome;

    daemon = await startProgram(configPath);
    expect(await statuses(daemon)).toEqual([410, 503]);
    expect(await change(daemon, "REINSTATE", ALICE)).toBe(422);
    expect(await change(daemon, "REINSTATE", BOB)).toBe(200);
    daemon.child.kill("SIGTERM");
    await daemon.outcome;

    const state = join(directory, ".agtp");
    for (const name of readdirSync(state)) {
      if (name.startsWith("state.db")) rmSync(join(state, name));
    }
    daemon = await startProgram(configPath);
    expect(await statuses(daemon)).toEqual([410, 200]);
    daemon.child.kill("SIGTERM");
    await daemon.outcome;
    checkChain(directory, ALICE);
    checkChain(directory, BOB);
  });
});

function sizeOf(directory: string): number {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

describe("a flood of strangers", () => {
  it.each(["reject", "accept"])("leaves no trace in the state directory: %s", async (unknown) => {
    const { directory, connect } = await openDaemon(hostedFiles({ unknown_agents: unknown }));
    const state = join(directory, ".agtp");
    // The last that a start writes, behind the ready line.
    await vi.waitFor(() => readFileSync(join(state, "manifest.json")), PATIENCE);
    const before = [sizeOf(state), readdirSync(state).toSorted()];
    const client = await connect();
    const count = 2_000;
    for (let more = 0; more < count; more += 1) {
      const headers = {
        "Agent-ID": more.toString(16).padStart(64, "0"),
        "Session-ID": `session-${more}`,
        "Authority-Scope": "booking:room",
      };
      const named = more % 4 === 0 ? {} : headers;
      client.write(encodeRequest({ method: "BOOK", path: "/rooms", headers: named, body: {} }));
    }
    const replies = await client.replies(count);
    expect(new Set(replies.map(({ status }) => status))).toEqual(
      new Set([262, unknown === "accept" ? 200 : 401]),
    );
    expect([sizeOf(state), readdirSync(state).toSorted()]).toEqual(before);
    expect(readFileSync(join(state, "journal/00000001.jws"), "utf8")).toBe("");
  });
});
