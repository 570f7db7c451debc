/** The program against a daemon: what one makes the other takes, and the chain holds. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createClient } from "../../../src/client/client.ts";
import { openDaemon } from "../../support/daemon.ts";
import { configFile } from "../../support/deployment.ts";
import { makeKeysProgram, makeLauren } from "../../support/keys-program.ts";

const FILES = ["agents/lauren.genesis.json", "agents/lauren.agent.json", ".agtp/keys/signing.pem"];

describe("agtp-keys and a daemon", () => {
  it("agree on an agent, and on every record of its chain", async () => {
    const program = makeKeysProgram();
    const agentId = await makeLauren(program);
    const { daemon, directory } = await openDaemon({
      "agtp-server.toml": configFile({
        signing: { key: ".agtp/keys/signing.pem" },
        policies: { identity: { inspect_acl: "public" } },
      }),
      ...Object.fromEntries(FILES.map((file) => [file, program.read(file)])),
    });
    const { port } = daemon;
    const client = createClient({ host: "127.0.0.1", port, rejectUnauthorized: false });
    const ask = { method: "DISCOVER", path: "/methods", agentId };
    const replies = await Promise.all(Array.from({ length: 30 }, () => client.request(ask)));
    await client.close();
    expect(replies.map(({ status }) => status)).toEqual(Array(30).fill(200));
    program.write("cert.pem", readFileSync(join(directory, ".agtp/tls/cert.pem"), "utf8"));

    const key = ["--agent", agentId, "--key", ".agtp/keys/signing.pem", "--json"];
    const uri = `agtp://localhost:${port}`;
    const asked = await program.run("verify", "--chain", uri, ...key, "--ca", "cert.pem");
    expect([asked.exitCode, asked.err]).toEqual([0, ""]);
    expect(asked.json).toMatchObject({ ok: true, records: 30, signatures: { verified: 30 } });

    // Being asked was recorded, too: for the head and for each of the 30.
    const read = await program.run("verify", "--chain", join(directory, ".agtp/journal"), ...key);
    expect(read.json).toMatchObject({ ok: true, records: 61, signatures: { verified: 61 } });
  });
});
