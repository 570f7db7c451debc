/** Two daemons over one PostgreSQL with retention: records of last year go, and both say so. */
import { createPublicKey } from "node:crypto";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { askDaemon } from "../../src/programs/control-commands.ts";
import { keysProgram } from "../../src/programs/keys/command.ts";
import { stateCommand } from "../../src/programs/state/command.ts";
import { makeChain, makeKeyPair } from "../support/attribution-chain.ts";
import { askOnce, serve, type TestDaemon } from "../support/daemon.ts";
import { createDeployment, type TestDeployment } from "../support/deployment.ts";
import { makeDirectory } from "../support/directory.ts";
import type { TestReply } from "../support/dispatch.ts";
import { ALICE, hostedFiles } from "../support/hosted-agents.ts";
import { PATIENCE } from "../support/patience.ts";
import { describeWithPostgres, postgres } from "../support/postgres.ts";
import { recordOf } from "../support/records.ts";
import { runIn } from "../support/terminal.ts";

const KEYS = makeKeyPair();
const KEY_FILE = String(KEYS.privateKey.export({ type: "pkcs8", format: "pem" }));
const PUBLIC_KEY_FILE = String(
  createPublicKey(KEYS.privateKey).export({ type: "spki", format: "pem" }),
);
const OLD = 12;

type Tables = Readonly<Record<string, object>>;

function makeNode(tables: Tables, files: Readonly<Record<string, string>> = {}): TestDeployment {
  const deployment = createDeployment(
    hostedFiles(
      { inspect_acl: "public" },
      { signing: { key: "signing.pem" }, ...tables },
      {
        "handlers.mjs": "export const echo = ({ input }) => ({ body: input });",
        ...{ "signing.pem": KEY_FILE, "public.pem": PUBLIC_KEY_FILE, ...files },
      },
    ),
  );
  onTestFinished(() => deployment.remove());
  return deployment;
}

async function ask(daemon: TestDaemon, request: object): Promise<TestReply> {
  return askOnce(daemon, { method: "INSPECT", path: "/", ...request });
}

/** The status and the code with which a node answers where a record is. */
async function lookUp(
  daemon: TestDaemon,
  auditId: string | undefined,
): Promise<readonly unknown[]> {
  const { status, body } = await ask(daemon, { body: { target: "audit", audit_id: auditId } });
  return status === 200 ? [status] : [status, body["error"]?.["code"]];
}

async function state({ directory }: { readonly directory: string }, ...args: readonly string[]) {
  expect(await runIn(directory, stateCommand(), args)).toMatchObject({ exitCode: 0, err: "" });
}

/** Walks Alice's chain as `agtp-keys verify` does. */
async function verify(directory: string, chain: string, archive?: string): Promise<unknown> {
  const args = ["verify", "--json", "--agent", ALICE, "--key", "public.pem", "--chain", chain];
  const ca = chain.startsWith("agtp:") ? ["--ca", ".agtp/tls/cert.pem"] : [];
  const more = archive === undefined ? ca : [...ca, "--archive", archive];
  const { out, err } = await runIn(directory, keysProgram, [...args, ...more]);
  expect(err).toBe("");
  return JSON.parse(out);
}

/** A database with a chain of last January in it, which came from files. */
async function makeOldDatabase() {
  const old = makeChain({ agentId: ALICE, length: OLD, key: KEYS.privateKey });
  const journal = old.map(({ jws }) => `${jws}\n`).join("");
  const files = makeNode({}, { ".agtp/journal/00000001.jws": journal });
  const copy = join(makeDirectory(), "state.ndjson");
  await state(files, "export", copy);
  const store = { driver: "postgres", url: await postgres().makeDatabase() };
  await state(makeNode({ store, cluster: { node: "a" } }), "import", copy);
  return { old, store };
}

// AGTP "INSPECT", AGTP-IDENTIFIERS "Audit Log"
describeWithPostgres("two nodes of one store with [attribution.retention]", () => {
  it("answer 410 for what one of them archived, and the chain verifies everywhere", async () => {
    const { old, store } = await makeOldDatabase();
    const archive = join(makeDirectory(), "archive");
    const tables = { store, attribution: { retention: { days: 1, archive } } };
    const deployments = ["a", "b"].map((node) => makeNode({ ...tables, cluster: { node } }));
    const nodes: TestDaemon[] = [];
    for (const one of deployments) nodes.push(await serve(one));
    const cutters = (): readonly TestDaemon[] =>
      nodes.filter(({ log }) => log.some(({ event }) => event === "journal-cut"));
    await vi.waitFor(() => expect(cutters()).toHaveLength(1), PATIENCE);
    await vi.waitFor(async () => {
      const rows = await postgres().query("SELECT FROM agtp.records", store.url);
      expect(rows).toEqual([]);
    }, PATIENCE);

    const kept: string[] = [];
    for (const node of nodes) {
      const headers = { "Agent-ID": ALICE };
      kept.push(recordOf(await ask(node, { method: "QUERY", path: "/lists", headers })).auditId);
    }
    const [first, second] = kept;
    for (const node of nodes) {
      for (const { auditId } of [old[0], old[5], old[OLD - 1]].map(
        (one) => one ?? { auditId: "" },
      )) {
        expect(await lookUp(node, auditId)).toEqual([410, "record-archived"]);
      }
      expect(await lookUp(node, first)).toEqual([200]);
      expect(await lookUp(node, second)).toEqual([200]);
      expect(await lookUp(node, "c".repeat(64))).toEqual([404, "record-not-found"]);
    }

    // Over INSPECT from each node, alone and together with the archive.
    for (const [index, { daemon, directory }] of nodes.entries()) {
      const uri = `agtp://localhost:${daemon.port}`;
      expect(await verify(directory, uri)).toMatchObject({ ok: true });
      expect(await verify(directory, uri, archive), `node ${index}`).toMatchObject({ ok: true });
    }
    // From an export of each node, moved into files.
    for (const { directory } of nodes) {
      const file = join(makeDirectory(), "state.ndjson");
      await state({ directory }, "export", file);
      const back = makeNode({});
      copyFileSync(file, join(back.directory, "state.ndjson"));
      await state(back, "import", "state.ndjson");
      const journal = ".agtp/journal";
      expect(await verify(back.directory, journal)).toMatchObject({ ok: true });
      expect(await verify(back.directory, journal, archive)).toMatchObject({ ok: true });
    }
    const [{ directory } = { directory: "" }] = nodes;
    expect(await verify(directory, archive, archive)).toMatchObject({ ok: true, records: OLD });
  });

  it("answer 410 where one of them has the section, and records are deleted", async () => {
    const { old, store } = await makeOldDatabase();
    const retention = { attribution: { retention: { days: 1 } } };
    const cutting = await serve(makeNode({ store, ...retention, cluster: { node: "a" } }));
    const other = await serve(makeNode({ store, cluster: { node: "b" } }));
    await vi.waitFor(
      () => expect(cutting.log.map(({ event }) => event)).toContain("journal-cut"),
      PATIENCE,
    );
    for (const node of [cutting, other]) {
      // No list of all that went is kept, but where each chain stood.
      expect(await lookUp(node, old[OLD - 1]?.auditId)).toEqual([410, "record-removed"]);
      const headers = { "Agent-ID": ALICE };
      const reply = await ask(node, { method: "QUERY", path: "/lists", headers });
      expect(reply.status).toBe(200);
      const uri = `agtp://localhost:${node.daemon.port}`;
      expect(await verify(node.directory, uri)).toMatchObject({ ok: true });
      const question = { command: "status", config: "agtp-server.toml" } as const;
      const status = await askDaemon(question, { directory: node.directory });
      expect(status["journal_cut_through"]).toBe("00000001.jws");
    }
  });
});
