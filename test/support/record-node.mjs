/**
 * A process that is a node of a database: it keeps records and cuts them meanwhile, until it kills itself
 * behind a step of a cut. Takes a directory, the database, the step and how often that is done before, and
 * an agent. Prints the audit id of each record that is acknowledged, a line each.
 */
import { generateKeyPairSync } from "node:crypto";
import { writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { openNode, openPostgres } from "../../dist/src/state/postgres/open.js";
import { Attributor } from "../../dist/src/state/records/ledger.js";
import { createRecordSigner, createSealer } from "../../dist/src/state/records/sealer.js";
import { openState } from "../../dist/src/state/state.js";

const [directory, url, step, times, agentId] = process.argv.slice(2);
const serverId = "agents.example";
const { privateKey, publicKey } = generateKeyPairSync("ed25519");
writeFileSync(join(directory, "key.pem"), publicKey.export({ type: "spki", format: "pem" }));
const onFault = (error) => {
  throw error;
};
let done = 0;
const { store } = await openPostgres({ url, schema: "agtp" });
const { node, shared } = await openNode(store, {
  ...{ node: "killed", address: "127.0.0.1:4480", version: "0", leaseMs: 800, segmentBytes: 4_000 },
  ...{ acknowledgedPath: join(directory, "acknowledged.json"), onFault, onNotice: () => undefined },
  onCutStep: (one) => {
    if (one === step) done += 1;
    if (done > Number(times)) process.kill(process.pid, "SIGKILL");
  },
});
const state = await openState({
  ...{ store, journalDirectory: undefined, shared, view: node, onFault },
});
await node.start();
const signer = createRecordSigner(privateKey);
const { ledger } = state;
const attributor = new Attributor({ serverId, sealer: createSealer(signer), ledger });
const FACTS = {
  ...{ agentId, ownerId: "acme", requestId: "", responseId: "", method: "QUERY", path: "/" },
  ...{ status: 200, assurance: "unverified", requestBody: "", responseBody: "" },
};

async function grow(count) {
  const drafts = Array.from({ length: count }, () => attributor.chained(FACTS));
  await ledger.settled();
  for (const { auditId } of drafts) writeSync(1, `${auditId}\n`);
}

await grow(20);
const limits = { bytes: 8_000, archive: join(directory, "archive") };
state.retention.apply({ limits, signer, serverId });
// More than any of the steps needs; each round has something to cut.
for (let round = 0; round < 200; round += 1) await Promise.all([state.retention.run(), grow(5)]);
