/** A deployment whose journal lost records: what the start, the doctor, verify and repair say of it. */
import { appendFileSync, cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startDaemon } from "../../../src/app/daemon.ts";
import { createLog } from "../../../src/base/log.ts";
import { formatProblem } from "../../../src/base/problem.ts";
import { createClient } from "../../../src/client/client.ts";
import { doctorCommand } from "../../../src/programs/doctor/command.ts";
import { createDaemon } from "../../support/daemon.ts";
import { configFile, makeDeployment } from "../../support/deployment.ts";
import type { FindingJson } from "../../support/doctor.ts";
import { type KeysProgram, makeKeysProgram, makeLauren } from "../../support/keys-program.ts";
import { flipOctet, leaveCommits } from "../../support/killed-store.ts";
import { cutLines, type ReadRecord, readJournal } from "../../support/records.ts";
import { runIn } from "../../support/terminal.ts";

interface Served {
  readonly program: KeysProgram;
  readonly agentId: string;
  readonly configPath: string;
  readonly journal: string;
  readonly segment: string;
  readonly records: readonly ReadRecord[];
}

/** A deployment that served an agent so many requests, and was stopped. */
async function serve(requests = 8): Promise<Served> {
  const { directory, configPath } = makeDeployment({
    "agtp-server.toml": configFile({
      signing: { key: ".agtp/keys/signing.pem" },
      policies: { identity: { inspect_acl: "public" } },
    }),
  });
  const program = makeKeysProgram({}, directory);
  const agentId = await makeLauren(program);
  const served = { program, agentId, configPath, journal: join(directory, ".agtp/journal") };
  await ask(served, requests);
  const segment = join(served.journal, "00000001.jws");
  return { ...served, segment, records: readJournal(served.journal) };
}

async function ask(
  { configPath, program, agentId }: Pick<Served, "configPath" | "program" | "agentId">,
  requests: number,
): Promise<void> {
  const { daemon, close } = await createDaemon({ configPath, directory: program.directory });
  const client = createClient({ host: "127.0.0.1", port: daemon.port, rejectUnauthorized: false });
  for (let count = 0; count < requests; count += 1) {
    await client.request({ method: "DISCOVER", path: "/methods", agentId });
  }
  await client.close();
  await close();
}

/** The problems of a start that is refused, and what the log says of it. */
async function refusalOf(configPath: string) {
  const log: Record<string, unknown>[] = [];
  const write = (text: string): void => {
    for (const line of text.split("\n").filter(Boolean)) log.push(JSON.parse(line));
  };
  const sink = { write, flush: () => Promise.resolve() };
  const options = { configPath, port: 0, env: {}, log: createLog("info", sink) };
  const started = await startDaemon(options);
  if (started.kind === "started") {
    await started.daemon.drain();
    return { problems: [], log };
  }
  return { problems: started.problems.map(formatProblem), log };
}

async function diagnose(
  { program, configPath }: Served,
  check = "journal",
): Promise<readonly FindingJson[]> {
  const args = ["--config", configPath, "--json"];
  const { out } = await runIn(program.directory, doctorCommand(), args);
  const { findings } = JSON.parse(out) as { findings: readonly FindingJson[] };
  return findings.filter(({ id }) => id === check);
}

const verify = ({ agentId }: Served, ...more: readonly string[]): readonly string[] => [
  ...["verify", "--chain", ".agtp/journal", "--agent", agentId],
  ...["--key", ".agtp/keys/signing.pem", "--json", ...more],
];

describe("a journal whose last five records were removed after a clean stop", () => {
  it("is noticed by the start, the doctor, and by verify with a trusted head; repair goes on", async () => {
    const served = await serve();
    const { program, agentId, configPath, records } = served;
    const head = records.at(-1)?.auditId ?? "";
    cutLines(served.segment, 5);
    const message = `lacks record ${head} of agent ${agentId}, which is known to have been in its chain`;

    const { problems, log } = await refusalOf(configPath);
    expect(problems).toEqual([
      `.agtp/journal/00000001.jws: ${message} (put back a copy of the journal, or go on without: agtp-keys repair --config ${configPath})`,
    ]);
    expect(log).toMatchObject([
      { event: "store-went-back", level: "error", agent_id: agentId, audit_id: head },
    ]);
    expect(await diagnose(served)).toMatchObject([
      { severity: "error", file: ".agtp/journal/00000001.jws", message },
    ]);

    // What is left is a chain that holds; only who remembers its head can know better.
    expect((await program.run(...verify(served))).exitCode).toBe(0);
    for (const trusted of [head, `sha256:${head}`]) {
      const { exitCode, json } = await program.run(...verify(served, "--head", trusted));
      expect(exitCode).toBe(1);
      expect(json["broken"]).toEqual({
        kind: "truncated",
        audit_id: head,
        message: `record ${head} was in the chain and is not any more: the chain was cut, it ends with record ${records[2]?.auditId}`,
      });
    }
    const known = await program.run(...verify(served, "--head", records[1]?.auditId ?? ""));
    expect(known.exitCode).toBe(0);

    const repaired = await program.run("repair", "--reason", "a test", "--json");
    expect([repaired.exitCode, repaired.err]).toEqual([0, ""]);
    const [chain] = repaired.json["chains"] as Record<string, unknown>[];
    expect(chain).toMatchObject({
      agent_id: agentId,
      lost_records: [head],
      follows: records[2]?.auditId,
    });
    const record = readJournal(served.journal).at(-1);
    expect(record?.auditId).toBe(chain?.["audit_id"]);
    expect(record?.payload).toMatchObject({
      ...{ agent_id: agentId, event_type: "chain-repaired", lost_records: [head] },
      ...{ previous_audit_id: records[2]?.auditId, reason: "a test" },
    });
    expect(await diagnose(served)).toEqual([]);

    // Nothing is left to repair, and the chain goes on.
    expect((await program.run("repair")).out).toBe(
      "no damage of the journal is known; nothing was done\n",
    );
    await ask(served, 3);
    const report = await program.run(...verify(served));
    expect([report.exitCode, report.json["records"], report.json["signatures"]]).toEqual([
      0,
      7,
      { verified: 7, unsigned: 0, unchecked: 0 },
    ]);
    // The loss stays on the record, and so does what was lost.
    expect((await program.run(...verify(served, "--head", head))).exitCode).toBe(1);
  });

  it("does not take a record that is there, behind another one that is gone, for a lost one", async () => {
    const served = await serve();
    const { program, agentId, configPath, records, segment } = served;
    const [head, gone] = [records.at(-1)?.auditId, records[3]?.auditId];
    const lines = readFileSync(segment, "latin1").split("\n");
    writeFileSync(segment, lines.toSpliced(3, 1).join("\n"), "latin1");
    const message = `holds record ${head} of agent ${agentId} at another octet than it was written at: something before it was changed`;
    const { problems, log } = await refusalOf(configPath);
    expect(problems).toEqual([expect.stringContaining(message)]);
    expect(log).toMatchObject([{ event: "store-went-back", agent_id: agentId, audit_id: head }]);
    expect(await diagnose(served)).toContainEqual(expect.objectContaining({ message }));

    const repaired = await program.run("repair", "--json");
    expect(repaired.json["chains"]).toMatchObject([
      { agent_id: agentId, lost_records: [gone], follows: head },
    ]);
    expect(readJournal(served.journal).at(-1)?.payload).toMatchObject({
      ...{ lost_records: [gone], damaged_segments: ["00000001.jws"], previous_audit_id: head },
    });
    await ask(served, 1);
    const { json } = await program.run(...verify(served));
    expect(json["broken"]).toMatchObject({ kind: "missing-record", audit_id: gone });
  });

  it("names no record as lost where nobody knows which one is gone", async () => {
    const served = await serve();
    const { program, agentId, records, segment } = served;
    const lines = readFileSync(segment, "latin1").split("\n");
    writeFileSync(segment, lines.slice(1).join("\n"), "latin1");
    const { json } = await program.run("repair", "--json");
    const head = records.at(-1)?.auditId;
    const chain = { agent_id: agentId, lost_records: [], follows: head };
    expect(json["chains"]).toMatchObject([chain]);
    await ask(served, 1);
  });

  it("is noticed when the running server is asked for the head of a chain", async () => {
    const served = await serve();
    const { program, configPath } = served;
    const { daemon, close } = await createDaemon({ configPath, directory: program.directory });
    const copy = join(program.directory, "copy");
    const args = ["--head", `agtp://localhost:${daemon.port}`, "--ca", ".agtp/tls/cert.pem"];
    const whole = await program.run(...verify(served, ...args));
    expect([whole.exitCode, whole.err]).toEqual([0, ""]);
    cpSync(served.journal, copy, { recursive: true });
    cutLines(join(copy, "00000001.jws"), 3);
    const cut = [...verify(served, ...args)].map((one) => (one === ".agtp/journal" ? "copy" : one));
    expect((await program.run(...cut)).json["broken"]).toMatchObject({ kind: "truncated" });
    rmSync(join(copy, "00000001.jws"));
    expect((await program.run(...cut)).json).toMatchObject({
      records: 0,
      broken: { kind: "truncated", message: expect.stringContaining("nothing is left of it") },
    });
    await close();
  });
});

describe("agtp-keys repair", () => {
  it("begins a chain anew of which nothing is left", async () => {
    const served = await serve(2);
    rmSync(served.journal, { recursive: true });
    expect((await refusalOf(served.configPath)).problems).toHaveLength(1);
    const { out, exitCode } = await served.program.run("repair");
    expect([exitCode, out]).toEqual([0, expect.stringContaining("begins anew")]);
    expect(readJournal(served.journal)[0]?.payload["lost_records"]).toEqual([
      served.records[1]?.auditId,
    ]);
    await ask(served, 1);
    expect((await served.program.run(...verify(served))).json["records"]).toBe(2);
  });

  it.each([
    ["that are no records", "not a record\n"],
    [
      "that are longer than any, as where a disk has lost what it was given",
      `${"\0".repeat(3_000_000)}\n`,
    ],
    ["that end with their segment, behind which another was begun", "\0".repeat(3_000_000)],
  ])("sets lines aside %s, and records that", async (_, line) => {
    const served = await serve(3);
    appendFileSync(served.segment, line);
    if (!line.endsWith("\n")) writeFileSync(join(served.journal, "00000002.jws"), "");
    expect((await refusalOf(served.configPath)).problems).toEqual([
      expect.stringContaining("holds something else than a record at octet"),
    ]);
    const { json } = await served.program.run("repair", "--json");
    const [copy] = json["set_aside"] as string[];
    expect(readdirSync(served.journal)).toContain(copy);
    expect(readFileSync(join(served.journal, copy ?? ""), "latin1")).toContain(line);
    expect(readJournal(served.journal).at(-1)?.payload).toMatchObject({ set_aside: [copy] });
    await ask(served, 1);
    expect((await served.program.run(...verify(served))).json["records"]).toBe(5);
  });

  it("goes on with a store whose log was damaged, sets the log aside and records that", async () => {
    const served = await serve(3);
    const { program, configPath } = served;
    const log = join(program.directory, ".agtp/state.db-wal");
    await leaveCommits(log.replace("-wal", ""), 6);
    flipOctet(log, 5000);
    const damaged = readFileSync(log);
    const message = 'is damaged: its log "state.db-wal" does not hold from octet 4152 on';
    for (let start = 1; start <= 2; start += 1) {
      expect((await refusalOf(configPath)).problems).toEqual([expect.stringContaining(message)]);
    }
    expect(await diagnose(served, "state-file")).toMatchObject([
      { severity: "error", file: ".agtp/state.db", message: expect.stringContaining(message) },
    ]);
    const { json, exitCode } = await program.run("repair", "--json");
    expect(exitCode).toBe(0);
    const [copy] = json["set_aside"] as string[];
    expect(readFileSync(join(program.directory, ".agtp", copy ?? ""))).toEqual(damaged);
    expect(json["damages"]).toMatchObject([{ file: "state.db-wal" }]);
    expect(readJournal(served.journal).at(-1)?.payload).toMatchObject({
      ...{ event_type: "chain-repaired", damaged_store: true },
      ...{ lost_records: [], damaged_segments: [], set_aside: [copy] },
    });
    expect(await diagnose(served, "state-file")).toEqual([]);
    await ask(served, 1);
    expect((await program.run(...verify(served))).json["records"]).toBe(5);
  });

  it("is refused while a daemon has the directory, and where nothing is kept", async () => {
    const served = await serve(1);
    const { program, configPath } = served;
    const { close } = await createDaemon({ configPath, directory: program.directory });
    const refused = await program.run("repair");
    expect(refused).toMatchObject({ exitCode: 1, out: "" });
    expect(refused.err).toContain(".agtp: is in use by agtpd, process");
    await close();
    program.write("memory.toml", configFile({ store: { driver: "memory" } }));
    const memory = await program.run("repair", "--config", "memory.toml");
    expect(memory).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining("no journal is kept"),
    });
    expect((await program.run("repair", "--config", "none.toml")).exitCode).toBe(2);
  });
});
