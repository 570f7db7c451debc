/** Journals whose lines were changed at random: what `agtp-keys repair` says of them, and whether they are served. */
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { createClient } from "../../../src/client/client.ts";
import { createDaemon } from "../../support/daemon.ts";
import { configFile, makeDeployment } from "../../support/deployment.ts";
import { makeDirectory } from "../../support/directory.ts";
import { makeKeysProgram, makeLauren } from "../../support/keys-program.ts";
import { readJournal } from "../../support/records.ts";

type Change = readonly [kind: "remove" | "repeat" | "swap" | "junk" | "cut", at: number];

const change: fc.Arbitrary<Change> = fc.tuple(
  fc.constantFrom("remove", "repeat", "swap", "junk", "cut" as const),
  fc.nat(11),
) as fc.Arbitrary<Change>;

function changed(lines: readonly string[], [kind, at]: Change): readonly string[] {
  const line = lines[at] ?? "";
  switch (kind) {
    case "remove":
      return lines.toSpliced(at, 1);
    case "repeat":
      return lines.toSpliced(at, 0, line);
    case "swap":
      return lines.toSpliced(at, 2, ...lines.slice(at, at + 2).toReversed());
    case "junk":
      return lines.toSpliced(at, 0, "junk");
    case "cut":
      return lines.slice(0, Math.max(1, at));
  }
}

it("calls no record lost that is there, whatever was done to the lines of a journal", async () => {
  const { directory, configPath } = makeDeployment({
    "agtp-server.toml": configFile({ signing: { key: ".agtp/keys/signing.pem" } }),
  });
  const agentId = await makeLauren(makeKeysProgram({}, directory));
  const served = await createDaemon({ configPath, directory });
  const { port } = served.daemon;
  const client = createClient({ host: "127.0.0.1", port, rejectUnauthorized: false });
  for (let count = 0; count < 12; count += 1) {
    await client.request({ method: "DISCOVER", path: "/methods", agentId });
  }
  await client.close();
  await served.close();
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
      const copy = makeDirectory();
      cpSync(directory, copy, { recursive: true });
      const segment = join(copy, ".agtp/journal/00000001.jws");
      const lines = readFileSync(segment, "latin1").split("\n").slice(0, -1);
      const after = changes.reduce(changed, lines);
      writeFileSync(segment, after.map((line) => `${line}\n`).join(""), "latin1");
      const program = makeKeysProgram({}, copy);
      const { exitCode, json } = await program.run("repair", "--json");
      expect(exitCode).toBe(0);
      const left = new Set(readJournal(join(copy, ".agtp/journal")).map(({ auditId }) => auditId));
      const chains = json["chains"] as readonly { readonly lost_records: readonly string[] }[];
      const lost = chains.flatMap(({ lost_records: ids }) => ids);
      expect(lost.filter((auditId) => left.has(auditId))).toEqual([]);
      expect((await program.run("repair", "--json")).json["repaired"]).toBe(false);
      const again = await createDaemon({
        configPath: join(copy, "agtp-server.toml"),
        directory: copy,
      });
      await again.close();
    }),
    {
      numRuns: 20,
      examples: [
        [
          [
            ["junk", 0],
            ["remove", 2],
          ],
        ],
      ],
    },
  );
}, 300_000);
