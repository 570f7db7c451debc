/** The authority of a run, as keys and agents stand at a moment. */
import { expect, it } from "vitest";
import { atOnce } from "../../../src/base/paced.ts";
import { creatingAgentDirectory } from "../../../src/identity/agent-directory.ts";
import type { AgentDocument } from "../../../src/identity/agent-document.ts";
import type { RunOwner } from "../../../src/modules/openwop/agent-executor.ts";
import { ApiKeys } from "../../../src/modules/openwop/http/api-keys.ts";
import { RunAuthority } from "../../../src/modules/openwop/run-authority.ts";

const ALICE = "a".repeat(64);
const BOB = "b".repeat(64);
const STRANGER = "e".repeat(64);
const SHA = "0".repeat(64);
const NOW = 1_000;

const documents = [
  { agentId: ALICE, name: "alice", scopes: ["runs:create", "booking:*"] },
  { agentId: BOB, name: "bob", scopes: [] },
] as unknown as readonly AgentDocument[];

interface Served {
  readonly unknownAgents?: "accept" | "reject";
  readonly inactive?: string;
  /** The agent and the serial number of a certificate. */
  readonly revoked?: string;
}

function authorityOf(
  owner: Partial<RunOwner>,
  { unknownAgents = "reject", inactive, revoked }: Served = {},
) {
  const authority = new RunAuthority(() => NOW);
  authority.serve({
    keys: new ApiKeys([
      { sha256: SHA, tenant: "acme", scopes: ["runs:create"], agtpScopes: ["booking:room"] },
    ]),
    directory: atOnce(creatingAgentDirectory(documents)),
    unknownAgents,
    findInactive: ({ agentId }) => (agentId === inactive ? "the agent is suspended" : undefined),
    certificates: {
      isRevoked: ({ serialNumber }, agentId) => `${agentId} ${serialNumber}` === revoked,
    },
    grantsOf: () => [],
  });
  const begun = { tenant: "acme", principal: "somebody", scopes: ["runs:create", "booking:room"] };
  return authority.ofOwner({ ...begun, ...owner });
}

const lent = (by: readonly string[], until = NOW + 1) => ({ by, until });

it.each<[string, Partial<RunOwner>, Served, readonly string[]]>([
  ["of a key what it has", { principal: `key:${SHA.slice(0, 12)}` }, {}, ["booking:room"]],
  ["of an agent what it holds", { agentId: ALICE }, {}, ["runs:create", "booking:room"]],
  [
    "of an agent no more than it had",
    { agentId: ALICE, scopes: ["runs:create"] },
    {},
    ["runs:create"],
  ],
  [
    "of a stranger what it had",
    { agentId: STRANGER },
    { unknownAgents: "accept" },
    ["runs:create", "booking:room"],
  ],
  [
    "of what was lent what its lender holds",
    { agentId: BOB, lent: lent([ALICE]) },
    {},
    ["runs:create", "booking:room"],
  ],
  [
    "of an agent that began it with a certificate which holds",
    { agentId: ALICE, shown: [{ agentId: ALICE, serialNumber: "1f" }] },
    { revoked: `${BOB} 1f` },
    ["runs:create", "booking:room"],
  ],
  [
    "of what a peer lends to its agent",
    { agentId: STRANGER, lent: lent([]) },
    {},
    ["runs:create", "booking:room"],
  ],
])("is %s", (_, owner, served, scopes) => {
  const held = authorityOf(owner, served);
  expect(held).toHaveLength(scopes.length);
  expect(held).toEqual(expect.arrayContaining([...scopes]));
});

it.each<[string, Partial<RunOwner>, Served]>([
  ["a key that is not there", { principal: "key:ffffffffffff" }, {}],
  ["a key of another tenant", { principal: `key:${SHA.slice(0, 12)}`, tenant: "other" }, {}],
  ["an agent that is not known", { agentId: STRANGER }, {}],
  ["an agent that is suspended", { agentId: ALICE }, { inactive: ALICE }],
  ["an agent that may begin no runs", { agentId: BOB }, {}],
  [
    "an agent whose lender is suspended",
    { agentId: BOB, lent: lent([ALICE]) },
    { inactive: ALICE },
  ],
  [
    "an agent to which was lent, suspended",
    { agentId: BOB, lent: lent([ALICE]) },
    { inactive: BOB },
  ],
  ["an agent whose lender is not known any more", { agentId: BOB, lent: lent([STRANGER]) }, {}],
  ["an agent whose lender may begin no runs", { agentId: ALICE, lent: lent([ALICE, BOB]) }, {}],
  [
    "an agent that began it with a certificate which was revoked",
    { agentId: ALICE, shown: [{ agentId: ALICE, serialNumber: "1f" }] },
    { revoked: `${ALICE} 1f` },
  ],
  ["what was lent until now", { agentId: BOB, lent: lent([ALICE], NOW) }, {}],
])("is none for %s", (_, owner, served) => {
  expect(authorityOf(owner, served)).toBeTypeOf("string");
});

it("is none before a deployment is served", () => {
  const owner = { tenant: "acme", principal: "agtp", agentId: ALICE, scopes: ["runs:create"] };
  expect(new RunAuthority(() => NOW).ofOwner(owner)).toBeTypeOf("string");
});
