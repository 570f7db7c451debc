/** Approvals on a daemon: raced over TLS, through reloads, over HTTP, and through kill -9. */

import { X509Certificate } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type RunningProgram, startProgram } from "../support/agtpd.ts";
import { makeOperator } from "../support/approval-ways.ts";
import {
  ALMA,
  approvedEndpoint,
  approvingFiles,
  BORIS,
  booking,
  OLGA,
  questionOf,
  ranIn,
  under,
} from "../support/approving.ts";
import { askOnce, connectRaw, openDaemon, type RawClient } from "../support/daemon.ts";
import { agentFile, makeDeployment, type TestDeployment } from "../support/deployment.ts";
import { encodeRequest, type TestRequest } from "../support/dispatch.ts";
import { openGateway } from "../support/gateway.ts";
import { ISSUER, makeIssuerKey, signToken } from "../support/token-issuer.ts";
import { askAs, confirmation, refusalOf } from "../support/waiting.ts";

const { ca: CA, fingerprint: FINGERPRINT, connection: AS_OPERATOR, pki } = makeOperator();

async function filesWith(
  approvals: readonly object[] = [],
  tables: Tables = {},
): Promise<Readonly<Record<string, string>>> {
  const identity = { operator_certificates: [FINGERPRINT] };
  const files = await approvingFiles(approvals, { policies: { identity }, ...tables });
  return { ...files, "ca.pem": CA };
}

type Tables = Readonly<Record<string, object>>;

/** Something that listens with TLS. */
interface Listening {
  connect(options?: object): Promise<RawClient>;
}

/** An agent's way to ask. */
function answering(daemon: Listening) {
  return { send: (request: TestRequest | string) => askOnce(daemon, asRequest(request)) };
}

function asRequest(request: TestRequest | string): TestRequest {
  if (typeof request === "string") throw new Error("raw bytes are not sent here");
  return request;
}

async function approve(daemon: Listening, request: TestRequest, word = "accepted") {
  const asked = await askAs(answering(daemon), ALMA, request);
  expect(refusalOf(asked)).toEqual([262, "approval-required"]);
  const id = String(asked.body["escalation_id"]);
  expect((await askOnce(daemon, confirmation(id, word), AS_OPERATOR)).status).toBe(200);
  return id;
}

/** Delegates the booking of the room to Boris, for an agent; `id` is that of the question that he is asked. */
async function handOn(
  daemon: Listening,
  agentId: string,
  escalationId?: string,
  as?: object,
  token?: string,
) {
  const { method, path, body: parameters } = booking("7");
  const asked = await askOnce(
    daemon,
    {
      method: "DELEGATE",
      headers: {
        "Agent-ID": agentId,
        ...(escalationId !== undefined && { "Escalation-ID": escalationId }),
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      },
      body: {
        target_agent_id: BORIS,
        authority_scope: ["booking:room"],
        task: { method, path, parameters },
      },
    },
    as,
  );
  return { asked, id: /esc-[0-9a-f-]{36}/.exec(asked.text)?.[0] ?? "" };
}

describe("an approval on a daemon", () => {
  it("lets one of 50 connections run the call", async () => {
    const daemon = await openDaemon(await filesWith());
    const id = await approve(daemon, booking("7"));
    const clients = await Promise.all(Array.from({ length: 50 }, () => daemon.connect()));
    const request = under(id, booking("7"));
    const headers = { "Agent-ID": ALMA, ...request.headers };
    const replies = await Promise.all(
      clients.map(async (client) => {
        client.write(encodeRequest({ ...request, headers }));
        return (await client.replies(1))[0];
      }),
    );
    expect(replies.filter((reply) => reply?.status === 200)).toHaveLength(1);
    const others = replies.filter((reply) => reply?.status !== 200);
    const codes = new Set(others.map((reply) => reply && refusalOf(reply).join(" ")));
    expect(codes).toEqual(new Set(["409 approval-used"]));
    expect(ranIn(daemon)).toEqual(["book 7 Ada"]);
  });

  it("is decided by the operator's certificate, and by no other connection", async () => {
    const daemon = await openDaemon(await filesWith());
    const asked = await askAs(answering(daemon), ALMA, booking("7"));
    const id = String(asked.body["escalation_id"]);
    const other = pki.make("other", { issuer: "ca" });
    const stranger = { cert: other.cert, key: other.key };
    const refused = await askOnce(daemon, confirmation(id, "accepted"), stranger);
    expect(refusalOf(refused)).toEqual([403, "confirmation-forbidden"]);
    expect((await askOnce(daemon, confirmation(id, "accepted"), AS_OPERATOR)).status).toBe(200);
  });

  it("is not given by an agent that has another one ask, though its certificate is an operator's", async () => {
    const { cert } = AS_OPERATOR;
    const cert_fingerprint = new X509Certificate(cert).fingerprint256;
    const alma = agentFile({
      ...{ agent_id: ALMA, name: "alma", cert_fingerprint },
      scopes_accepted: ["booking:room", "documents:read"],
    });
    const daemon = await openDaemon({
      ...(await filesWith()),
      "agents/alma.agent.json": alma,
      "agents/boris.agent.json": agentFile({ agent_id: BORIS, name: "boris" }),
    });
    const { asked, id } = await handOn(daemon, ALMA, undefined, AS_OPERATOR);
    expect(asked.status).toBe(550);
    for (const headers of [{ "Agent-ID": ALMA }, {}] as const) {
      const request = { ...confirmation(id, "accepted"), headers };
      const refused = await askOnce(daemon, request, AS_OPERATOR);
      expect(refusalOf(refused)).toEqual([403, "confirmation-forbidden"]);
    }
    expect(ranIn(daemon)).toEqual([]);
  });

  it("is for whom the call is made by another agent, and for nobody else", async () => {
    const daemon = await openDaemon(await filesWith());
    const { id } = await handOn(daemon, ALMA);
    const seen = await askOnce(
      daemon,
      { method: "QUERY", path: `/escalations/${id}` },
      AS_OPERATOR,
    );
    expect(seen.body["result"]).toMatchObject({ agent_id: BORIS, delegated_by: [ALMA] });
    expect((await askOnce(daemon, confirmation(id, "accepted"), AS_OPERATOR)).status).toBe(200);
    const own = await askAs(answering(daemon), BORIS, under(id, booking("7")));
    expect(refusalOf(own)).toEqual([409, "approval-mismatch"]);
    const { asked: other } = await handOn(daemon, OLGA, id);
    expect(other.body["sub_agent"]).toMatchObject({ error: { code: "approval-mismatch" } });
    // Each is a question of its own.
    const asking = [
      (await handOn(daemon, OLGA)).id,
      await questionOf(answering(daemon), booking("7"), BORIS),
    ];
    expect(new Set([id, ...asking]).size).toBe(3);
    expect((await handOn(daemon, ALMA, id)).asked.status).toBe(200);
    expect(ranIn(daemon)).toEqual(["book 7 Ada"]);
  });

  it("is for the principal of the agent that another one makes the call for", async () => {
    const key = await makeIssuerKey();
    const identity = { operator_certificates: [FINGERPRINT] };
    const oauth = { issuer: ISSUER, jwks_file: "jwks.json" };
    const daemon = await openDaemon({
      ...(await filesWith([], { policies: { identity, oauth } })),
      "jwks.json": JSON.stringify({ keys: [key.jwk] }),
    });
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: ISSUER, iat: now, exp: now + 60 };
    const tokenOf = (sub: string) => signToken(key, { ...claims, sub });
    const [ada, ben] = [await tokenOf("ada"), await tokenOf("ben")];
    const { id } = await handOn(daemon, ALMA, undefined, undefined, ada);
    expect((await handOn(daemon, ALMA, undefined, undefined, ben)).id).not.toBe(id);
    expect((await askOnce(daemon, confirmation(id, "accepted"), AS_OPERATOR)).status).toBe(200);
    expect((await handOn(daemon, ALMA, id, undefined, ben)).asked.status).toBe(550);
    expect((await handOn(daemon, ALMA, id, undefined, ada)).asked.status).toBe(200);
  });

  it("is good through a reload that changes nothing about it", async () => {
    const daemon = await openDaemon(await filesWith());
    const id = await approve(daemon, booking("7"));
    expect(await daemon.daemon.reload()).toEqual([]);
    const reply = await askAs(answering(daemon), ALMA, under(id, booking("7")));
    expect(reply.status).toBe(200);
    expect(await daemon.daemon.reload()).toEqual([]);
    const again = await askAs(answering(daemon), ALMA, under(id, booking("7")));
    expect(refusalOf(again)).toEqual([409, "approval-used"]);
  });

  it.each(["endpoint", "policy"])("is not for the call under another %s", async (what) => {
    const daemon = await openDaemon(await filesWith());
    const id = await approve(daemon, booking("7"));
    const pending = await askAs(answering(daemon), ALMA, booking("8"));
    if (what === "endpoint") {
      const book = approvedEndpoint({
        ...{ method: "BOOK", path: "/rooms/{room}", approval: "operator" },
        ...{ required_scopes: ["booking:room"], description: "Another endpoint." },
        handler: { type: "registered_function", function: "handlers.book" },
      });
      writeFileSync(join(daemon.directory, "endpoints/book.toml"), book);
    } else {
      const files = await filesWith([{ impact: "irreversible", approval: "operator" }]);
      writeFileSync(join(daemon.directory, "agtp-server.toml"), files["agtp-server.toml"] ?? "");
    }
    expect(await daemon.daemon.reload()).toEqual([]);
    for (const [escalation, room] of [
      [id, "7"],
      [String(pending.body["escalation_id"]), "8"],
    ] as const) {
      const reply = await askAs(answering(daemon), ALMA, under(escalation, booking(room)));
      expect(refusalOf(reply)).toEqual([409, "approval-mismatch"]);
      expect(reply.body["mismatched"]).toEqual([`${what}_version`]);
    }
    expect(ranIn(daemon)).toEqual([]);
    const fresh = await approve(daemon, booking("7"));
    expect((await askAs(answering(daemon), ALMA, under(fresh, booking("7")))).status).toBe(200);
  });
});

describe("an approval over HTTP", () => {
  it("is asked for with 403, and brought in the same header", async () => {
    const gateway = { enabled: true, port: 0, agent: "alma" };
    const daemon = await openGateway(await filesWith([], { gateway }));
    const book = (headers: Record<string, string> = {}): Promise<Response> =>
      daemon.fetch("/rooms/7/book", {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify({ guest: "Ada" }),
      });
    const asked = await book();
    expect(asked.status).toBe(403);
    expect(asked.headers.get("x-agtp-status")).toBe("262");
    const { escalation_id: id } = (await asked.json()) as { readonly escalation_id: string };
    expect((await askOnce(daemon, confirmation(id, "accepted"), AS_OPERATOR)).status).toBe(200);
    const done = await book({ "Escalation-ID": id });
    expect(done.status).toBe(200);
    const again = await book({ "Escalation-ID": id });
    expect(again.status).toBe(409);
    expect(await again.json()).toMatchObject({ error: { code: "approval-used" } });
    expect(ranIn(daemon)).toEqual(["book 7 Ada"]);
  });
});

// Processes are started one after the other.
describe("a daemon that is killed", () => {
  async function kill(program: RunningProgram): Promise<void> {
    program.child.kill("SIGKILL");
    await program.outcome;
  }

  /** A connection of an operator, beside those of agents. */
  function operating(program: RunningProgram): Listening {
    return {
      connect: (options) =>
        options === undefined ? program.connect() : connectRaw(program, options),
    };
  }

  async function start(deployment: TestDeployment) {
    const program = await startProgram(deployment.configPath);
    return { program, daemon: operating(program) };
  }

  it("between decision and call, lets the call run once after the restart", async () => {
    const deployment = makeDeployment(await filesWith());
    const first = await start(deployment);
    const id = await approve(first.daemon, booking("7"));
    await kill(first.program);
    const second = await start(deployment);
    const done = await askAs(answering(second.daemon), ALMA, under(id, booking("7")));
    expect(done.status).toBe(200);
    const auditId = done.headers.get("audit-id");
    await kill(second.program);
    const third = await start(deployment);
    const again = await askAs(answering(third.daemon), ALMA, under(id, booking("7")));
    expect(refusalOf(again)).toEqual([409, "approval-used"]);
    expect(again.body).toMatchObject({
      ...{ outcome: "answered", outcome_status: 200, audit_id: auditId },
    });
    expect(ranIn(deployment)).toEqual(["book 7 Ada"]);
    await kill(third.program);
  });

  it("between call and answer, never runs it twice, and says that it does not know", async () => {
    const deployment = makeDeployment(await filesWith());
    const slow = booking("7", { path: "/slow/7" });
    const keyed = booking("8", { path: "/slow/8", headers: { "Idempotency-Key": "k-1" } });
    const first = await start(deployment);
    const ids = [await approve(first.daemon, slow), await approve(first.daemon, keyed)];
    for (const [index, request] of [slow, keyed].entries()) {
      const client = await first.program.connect();
      const { headers, ...rest } = under(ids[index] ?? "", request);
      client.write(encodeRequest({ ...rest, headers: { "Agent-ID": ALMA, ...headers } }));
      await first.program.line("begun");
    }
    await kill(first.program);
    const second = await start(deployment);
    const again = await askAs(answering(second.daemon), ALMA, under(ids[0] ?? "", slow));
    expect(refusalOf(again)).toEqual([409, "approval-used"]);
    expect(again.body).toMatchObject({ outcome: "unknown" });
    expect(again.body["outcome_status"]).toBeUndefined();
    const late = await askOnce(second.daemon, confirmation(ids[0] ?? "", "rejected"), AS_OPERATOR);
    expect(refusalOf(late)).toEqual([409, "decision-conflict"]);
    const keyedAgain = await askAs(answering(second.daemon), ALMA, under(ids[1] ?? "", keyed));
    expect(refusalOf(keyedAgain)).toEqual([409, "idempotency-outcome-unknown"]);
    const { headers: _, ...unkeyed } = keyed;
    const bare = await askAs(answering(second.daemon), ALMA, under(ids[1] ?? "", unkeyed));
    expect(refusalOf(bare)).toEqual([409, "approval-used"]);
    expect(ranIn(deployment)).toEqual(["slow 7", "slow 8"]);
    await kill(second.program);
  });
});
