/** Whatever is sent to the methods that keep something: an answer, never a fault, never a lie. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { shareServer } from "../support/dispatch.ts";
import {
  ALICE,
  BOB,
  hostedFiles,
  ISSUER_PEER,
  peerWith,
  UNKNOWN,
} from "../support/hosted-agents.ts";
import { recordOf } from "../support/records.ts";

const METHODS = [
  ...["ACTIVATE", "DEACTIVATE", "REINSTATE", "REVOKE", "DEPRECATE"],
  ...["INSPECT", "NOTIFY", "ESCALATE", "CONFIRM", "SUSPEND", "RESUME"],
];
const NAMES = [
  ...["agent_id", "agent", "target", "reason", "actor", "audit_id", "limit", "recipient"],
  ...["content", "successor_agent_id", "migration_deadline", "synthesis_id", "parameters"],
  ...["session_id", "task_id", "method", "__proto__", "constructor", "toString"],
  ...["context", "priority", "deadline", "target_id", "escalation_id", "status", "decision"],
  ...["attestation", "resume_by", "checkpoint", "resumption_nonce"],
];

const text = fc.oneof(
  fc.constantFrom(ALICE, BOB, UNKNOWN, "alice", "audit", "chain_head", "lifecycle", "contract"),
  fc.constantFrom("session", "escalation", "scope_limit", "accepted", "awaiting_input", "PT1H"),
  fc.constantFrom("infrastructure:broadcast", "certificate_revoked", "0".repeat(64), "", "/"),
  fc.string({ unit: "binary", maxLength: 30 }),
);
const leaf = fc.oneof(text, fc.double(), fc.integer(), fc.boolean(), fc.constant(null));
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 2 },
    leaf,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(
      fc.constantFrom("event_type", "agent_id", "certificate_serial", "revocation_reason"),
      tie("value"),
      { maxKeys: 4 },
    ),
  ),
}));
const body = fc.dictionary(fc.constantFrom(...NAMES), value, { maxKeys: 6 });
const headers = fc.record(
  {
    "Agent-ID": fc.constantFrom(ALICE, BOB, UNKNOWN, "alice"),
    "Session-ID": fc.constantFrom("s-1", "s-2", "a b"),
    "Task-ID": fc.constantFrom("t-1", '"'),
    "Request-ID": fc.constantFrom("01ARZ3NDEKTSV4RRFFQ69G5FAV", '","agent_id":"'),
  },
  { requiredKeys: [] },
);
const peer = fc.constantFrom(
  {},
  ISSUER_PEER,
  peerWith(),
  peerWith({ agent: { agentId: ALICE } }),
  peerWith({ agent: { agentId: BOB, scopes: [] } }),
);
const path = fc.constantFrom("/", "/agents/alice", `/agents/${BOB}`, "/agents/%61lice", "/agents");

const ANSWERS = [200, 202, 262, 400, 401, 403, 404, 405, 409, 410, 422, 429, 459, 460, 501, 503];

describe.each(["genesis_issuer", "open"])("with lifecycle_auth = %s", (lifecycle_auth) => {
  const shared = shareServer(hostedFiles({ lifecycle_auth, inspect_acl: "public" }));

  it("every body is answered, with a record that says so", async () => {
    const request = fc.record({ method: fc.constantFrom(...METHODS), path, headers, body });
    await fc.assert(
      fc.asyncProperty(request, peer, async (asked, from) => {
        const server = shared();
        const reply = await server.send(asked, from);
        expect(ANSWERS).toContain(reply.status);
        expect(server.faults).toEqual([]);
        const { auditId, payload } = recordOf(reply);
        expect(reply.headers.get("audit-id")).toBe(auditId);
        expect(payload["status"]).toBe(reply.status);
        const agentId = asked.headers["Agent-ID"];
        if (payload["agent_id"] !== "") expect(payload["agent_id"]).toBe(agentId);
      }),
      { numRuns: 400 },
    );
  });
});

describe("an agent whose issuer is somebody else", () => {
  const shared = shareServer(hostedFiles({ inspect_acl: "public" }));

  it("is changed by no request of anybody else", async () => {
    const anyBody = fc.record({ method: fc.constantFrom(...METHODS), path, headers, body });
    const others = fc.constantFrom({}, peerWith(), peerWith({ agent: { agentId: ALICE } }));
    await fc.assert(
      fc.asyncProperty(anyBody, others, async (asked, from) => {
        await shared().send(asked, from);
        const { directory } = shared().deployment;
        for (const agent of directory.list()) {
          expect(shared().state.lifecycle.statusOf(agent)).toBe("active");
        }
      }),
      { numRuns: 200 },
    );
  });
});
