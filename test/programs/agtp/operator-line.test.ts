/** The commands of operators, against a daemon. */
import { describe, expect, it } from "vitest";
import { agtpProgram } from "../../../src/programs/agtp/command.ts";
import { ALMA, approvingFiles, booking, OLGA } from "../../support/approving.ts";
import { openDaemon, type RawClient, type TestDaemon } from "../../support/daemon.ts";
import { encodeRequest } from "../../support/dispatch.ts";
import { NORA, negotiationFiles, OPAL } from "../../support/negotiation.ts";
import { type ProgramRun, runIn } from "../../support/terminal.ts";
import { escalation } from "../../support/waiting.ts";

/** Runs the program in the deployment's directory, where it finds the certificate to trust. */
function run({ directory, daemon }: TestDaemon, args: readonly string[]): Promise<ProgramRun> {
  const [command = "", ...rest] = args;
  return runIn(directory, agtpProgram, [command, `agtp://localhost:${daemon.port}`, ...rest]);
}

async function escalate(client: RawClient, taskId: string, count: number): Promise<string> {
  const asked = escalation(taskId, { context: { question: "may\u001b[2J I?" } });
  client.write(encodeRequest({ ...asked, headers: { "Agent-ID": NORA } }));
  const reply = (await client.replies(count))[count - 1];
  return String(reply?.body["result"]?.["escalation_id"]);
}

const AS_OPAL = ["--agent-id", OPAL];

describe("agtp escalations", () => {
  it("shows what waits, what is asked, and how one was decided", async () => {
    const daemon = await openDaemon(negotiationFiles());
    const client = await daemon.connect();
    const empty = await run(daemon, ["escalations", ...AS_OPAL]);
    expect(empty).toMatchObject({ exitCode: 0, out: "", err: "nothing waits for a decision\n" });
    const one = await escalate(client, "t-1", 1);
    const two = await escalate(client, "t-2", 2);
    const all = await run(daemon, ["escalations", ...AS_OPAL]);
    expect(all).toMatchObject({ exitCode: 0, err: "" });
    const lines = all.out.split("\n");
    expect(lines[0]).toMatch(new RegExp(`^${two}  pending_review  normal  until 2`));
    expect(lines[1]).toBe(`  agent ${NORA}  task t-2  scope_limit  to operators`);
    expect(lines[3]).toContain(one);
    expect(all.out).not.toContain("\u001b");
    const first = await run(daemon, ["escalations", "--limit", "1", ...AS_OPAL]);
    expect(first.err).toBe("1 of 2: --limit shows more\n");

    const confirm = ["confirm", one, "--decision", "rejected", "--note", "too dear"];
    const confirmed = await run(daemon, [...confirm, ...AS_OPAL]);
    expect(confirmed).toMatchObject({ exitCode: 0, err: "" });
    expect(JSON.parse(confirmed.out)).toMatchObject({ result: { status: "rejected" } });
    const shown = await run(daemon, ["escalations", one, ...AS_OPAL]);
    expect(shown.out).toMatch(new RegExp(`  rejected at .* by ${OPAL}: too dear\n$`));
    const left = await run(daemon, ["escalations", "--json", ...AS_OPAL]);
    expect(JSON.parse(left.out)).toMatchObject({ status: 200, body: { result: { total: 1 } } });
  });

  it("shows a call that is to be approved whole, however long", async () => {
    const daemon = await openDaemon(await approvingFiles());
    const client = await daemon.connect();
    const guest = `${"x".repeat(2_000)} and Bob`;
    const headers = { "Agent-ID": ALMA };
    client.write(encodeRequest({ ...booking("7"), headers, body: { guest } }));
    await client.replies(1);
    const { out } = await run(daemon, ["escalations", "--agent-id", OLGA]);
    const [, , pair, input, digest] = out.split("\n");
    expect(pair).toBe("  BOOK /rooms/7  irreversible  for -");
    expect(JSON.parse(input ?? "")).toEqual({ guest, room: "7" });
    expect(digest).toMatch(/^ {2}sha256:[0-9a-f]{64}$/);
  });

  it("exits with 1 for what the server refuses", async () => {
    const daemon = await openDaemon(negotiationFiles());
    const id = await escalate(await daemon.connect(), "t-1", 1);
    const own = await run(daemon, ["confirm", id, "--decision", "accepted", "--agent-id", NORA]);
    expect(own).toMatchObject({ exitCode: 1 });
    expect(own.err).toContain("refused: 403 Forbidden: confirmation-forbidden");
    const none = await run(daemon, ["escalations", "esc-0", ...AS_OPAL]);
    expect(none).toMatchObject({ exitCode: 1 });
    expect(none.err).toContain("404");
  });

  it.each([
    ["escalations", "--status", "odd"],
    ["confirm", "esc-0"],
    ["confirm", "esc-0", "--decision", "maybe"],
    ["confirm", "--decision", "accepted"],
    ["confirm", "esc-0", "--decision=accepted", "--resume-value={"],
    ["escalations", "esc-0", "more"],
  ])("exits with 2 for %s %s %s", async (...args) => {
    const daemon = { directory: "/", daemon: { port: 1 } } as unknown as TestDaemon;
    const { exitCode, err } = await run(daemon, args);
    expect(exitCode).toBe(2);
    expect(err).toMatch(/error: /);
  });

  it.each(["escalations", "confirm"])("says how to use %s", async (command) => {
    const { exitCode, out } = await runIn("/", agtpProgram, [command, "--help"]);
    expect(exitCode).toBe(0);
    expect(out).toContain(`Usage: agtp ${command}`);
  });
});
