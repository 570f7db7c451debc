/**
 * A process that keeps records and cuts its journal meanwhile, until it kills itself behind a step of a
 * cut. Takes a directory, the step and how often that is done before. Prints the audit id of each
 * record that is acknowledged, a line each.
 */
import { generateKeyPairSync } from "node:crypto";
import { writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as passed } from "node:timers/promises";
import { openStore } from "../../dist/src/state/open-store.js";
import { readKnownChains } from "../../dist/src/state/records/known-chains.js";
import { Attributor } from "../../dist/src/state/records/ledger.js";
import { createRecordSigner, createSealer } from "../../dist/src/state/records/sealer.js";
import { openState } from "../../dist/src/state/state.js";

const [directory, step, times, agentId] = process.argv.slice(2);
const serverId = "agents.example";
const { privateKey, publicKey } = generateKeyPairSync("ed25519");
writeFileSync(join(directory, "key.pem"), publicKey.export({ type: "spki", format: "pem" }));
const { store } = await openStore({ driver: "sqlite", path: join(directory, "state.db") }, "");
let done = 0;
const state = await openState({
  ...{ store, journalDirectory: join(directory, "journal"), segmentBytes: 4_000 },
  onFault: (error) => {
    throw error;
  },
  onCutStep: (one) => {
    if (one === step) done += 1;
    if (done > Number(times)) process.kill(process.pid, "SIGKILL");
  },
});
const signer = createRecordSigner(privateKey);
const { ledger } = state;
const attributor = new Attributor({ serverId, sealer: createSealer(signer), ledger });
/** Nobody waits longer to see it killed. */
const LONGEST_MS = 60_000;
/** A reader without a pause takes the time of what it waits for. */
const POLL_MS = 10;
const FACTS = {
  ...{ agentId, ownerId: "acme", requestId: "", responseId: "", method: "QUERY", path: "/" },
  ...{ status: 200, assurance: "unverified", requestBody: "", responseBody: "" },
};

async function grow(count) {
  for (let more = 0; more < count; more += 1) {
    const draft = attributor.chained(FACTS);
    await ledger.settled();
    writeSync(1, `${draft.auditId}\n`);
  }
}

/** Resolves once the store knows so many segments, which can be cut then. */
async function takenIn(segments) {
  for (;;) {
    const { checkpoint } = await readKnownChains(store);
    if ((checkpoint?.segment ?? 0) > segments) return;
    await passed(POLL_MS);
  }
}

await grow(20);
await takenIn(4);
const limits = { bytes: 8_000, archive: join(directory, "archive") };
state.retention.apply({ limits, signer, serverId });
// A busy machine needs many rounds before there is something to cut again.
while (performance.now() < LONGEST_MS) await Promise.all([state.retention.run(), grow(5)]);
