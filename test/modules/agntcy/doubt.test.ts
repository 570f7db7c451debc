/** What nobody can be sure of: lost receipts, lost runs, agents under new ids, servers that blab. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { shieldCredentials } from "../../../src/modules/agntcy/acp/acp-call.ts";
import { type AcpServer, send } from "../../support/acp-server.ts";
import {
  agentManifest,
  askThrough,
  confirm,
  execute,
  MAIL_SPECS,
  MAYA,
  OLGA,
  openAcp,
  openHosted,
  query,
  remote,
} from "../../support/agntcy.ts";
import { refusalOf } from "../../support/waiting.ts";

const YES = { status: "accepted", resume_value: { approved: true }, wait_seconds: 10 };

/** Asks twice, and says how often it was answered. */
function openAsking(): Promise<AcpServer> {
  return openAcp({
    script: ({ answers }) =>
      answers.length < 2
        ? { interrupt: { mail_send_approval: { subject: `${answers.length}`, body: "" } } }
        : { success: { message: "sent" } },
  });
}

/** Lets an answer arrive, hangs up on it, and does `more` from then on. */
function loseReceipt(server: AcpServer, more: AcpServer["fault"]): void {
  server.fault = (request, response) => {
    if (request.method !== "POST" || !/^\/runs\/[^/]+$/.test(String(request.url))) return false;
    const run = server.runs.get(String(request.url).slice("/runs/".length));
    run?.answers.push(request.json);
    if (run !== undefined) {
      run.output = {
        type: "interrupt",
        interrupt: { mail_send_approval: { subject: "1", body: "" } },
      };
    }
    server.fault = more;
    response.destroy();
    return true;
  };
}

function answersOf(server: AcpServer): number | undefined {
  return [...server.runs.values()][0]?.answers.length;
}

describe("an answer whose receipt is lost", () => {
  it("shows the next question where it has arrived, and is not given to that", async () => {
    const server = await openAsking();
    const { ask } = await openHosted(server);
    const first = (await ask(MAYA, execute())).body;
    loseReceipt(server, undefined);
    const second = await ask(MAYA, confirm(first["run_id"], YES));
    expect(second.status, second.text).toBe(202);
    expect(second.body).toMatchObject({ status: "interrupted", payload: { subject: "1" } });
    const repeated = { ...YES, interrupt_id: first["interrupt_id"] };
    expect(refusalOf(await ask(MAYA, confirm(first["run_id"], repeated)))).toEqual([
      409,
      "run_not_interrupted",
    ]);
    expect(answersOf(server)).toBe(1);
    const meant = { ...YES, interrupt_id: second.body["interrupt_id"] };
    expect((await ask(MAYA, confirm(first["run_id"], meant))).body["status"]).toBe("success");
  });

  it("is followed by no other until the agent's server says what it asks now", async () => {
    const server = await openAsking();
    const { ask } = await openHosted(server);
    const { run_id: runId } = (await ask(MAYA, execute())).body;
    loseReceipt(server, (_request, response) => Boolean(response.destroy()));
    const lost = await ask(MAYA, confirm(runId, YES));
    expect(refusalOf(lost)).toEqual([422, "upstream_connection_error"]);
    const blind = await ask(MAYA, confirm(runId, YES));
    expect(blind.text).toContain("does not tell whether an earlier answer has arrived");
    server.fault = undefined;
    expect((await ask(MAYA, confirm(runId, YES))).text).toContain("another question by now");
    expect(answersOf(server)).toBe(1);
    expect((await ask(MAYA, query(runId))).body).toMatchObject({ payload: { subject: "1" } });
  });
});

describe("an answer to a question that the manifest does not declare any more", () => {
  it("is not given, because nobody could say whether it is one", async () => {
    const server = await openAsking();
    const { ask, daemon } = await openHosted(server);
    const { run_id: runId } = (await ask(MAYA, execute())).body;
    const interrupts = [{ interrupt_type: "other", interrupt_payload: {}, resume_payload: {} }];
    const specs = { ...MAIL_SPECS, interrupts };
    server.specs = specs;
    const manifest = agentManifest({ specs, options: [remote(server.url)] });
    writeFileSync(join(daemon.directory, "agents/agntcy/mail.json"), JSON.stringify(manifest));
    expect(await daemon.daemon.reload()).toEqual([]);
    const answer = confirm(runId, { ...YES, resume_value: "anything" });
    expect(refusalOf(await ask(OLGA, answer))).toEqual([422, "agent_unavailable"]);
    // Nothing says that it asks the agent.
    expect(refusalOf(await ask(MAYA, answer))).toEqual([403, "confirmation-forbidden"]);
    expect(answersOf(server)).toBe(0);
  });
});

// RFC 9110 §9.2.2, RFC 9112 §9.3.1
describe("an agent's server that gives up a connection as a request is sent on it", () => {
  it("is asked again for what it has, and not to do something", async () => {
    const server = await openAsking();
    const { ask } = await openHosted(server);
    const { run_id: runId } = (await ask(MAYA, execute())).body;
    const hangUpOnce = (method: string): void => {
      server.fault = (request, response) => {
        if (request.method !== method) return false;
        server.fault = undefined;
        response.destroy();
        return true;
      };
    };
    const asked = server.seen.length;
    hangUpOnce("GET");
    expect((await ask(MAYA, query(runId))).status).toBe(200);
    const [first, again] = server.seen.slice(asked).map(({ line }) => line);
    expect(again).toBe(first);
    hangUpOnce("POST");
    await ask(MAYA, confirm(runId, YES));
    expect(answersOf(server)).toBe(0);
  });
});

describe("an agent's server that was set up anew", () => {
  it("has forgotten what it asked, and the run is over", async () => {
    const server = await openAsking();
    const { ask } = await openHosted(server);
    const { run_id: runId } = (await ask(MAYA, execute())).body;
    server.runs.clear();
    const read = await ask(MAYA, query(runId));
    expect(read.body).toMatchObject({ status: "error", error: { code: "upstream_error" } });
    expect(read.text).toContain("knows nothing of the run any more");
  });

  it("has its agent under another id, which is found", async () => {
    const server = await openAcp();
    const { ask } = await openHosted(server);
    Object.assign(server, { agentId: "6a1d6f3e-0000-4000-8000-000000000001" });
    expect((await ask(MAYA, execute())).status).toBe(200);
    Object.assign(server, { agentId: "6a1d6f3e-0000-4000-8000-000000000002", specs: {} });
    expect(refusalOf(await ask(MAYA, execute()))).toEqual([422, "agent_unavailable"]);
  });
});

describe("an agent's server that repeats the credentials it was shown", () => {
  const apiKey = "open-sesame";
  const env = { ORG_AGNTCY_MAILCOMPOSER_API_KEY: apiKey };

  it("tells them neither the caller nor the log", async () => {
    const script = () => ({ success: { message: apiKey } });
    const server = await openAcp({ apiKey, script, canStreamNew: false });
    const { ask, daemon } = await openHosted(server, { env });
    const done = await ask(MAYA, execute());
    expect(done.body["output"], done.text).toEqual({ message: "[credential]" });
    const replies = [done];
    for (const answer of [{ detail: `bad ${apiKey}` }, `bad ${apiKey}`]) {
      for (const status of [401, 200]) {
        server.fault = (request, response) => {
          if (request.url === "/runs") send(response, status, answer);
          return request.url === "/runs";
        };
        replies.push(await ask(MAYA, execute()));
      }
    }
    const said = replies.map(({ text }) => text).join() + JSON.stringify(daemon.log);
    expect(said).toContain("bad [credential]");
    expect(said).not.toContain(apiKey);
  });

  it.each([
    ["Bearer token-1234", "token-1234"],
    [`Basic ${btoa("maya:pass word")}`, "pass word"],
    [`Basic ${btoa("maya:pass word")}`, btoa("maya:pass word")],
    ['quoted"1234', JSON.stringify('quoted"1234')],
  ])("is seen through for %s", (value, said) => {
    expect(shieldCredentials({ authorization: value })(`a ${said} b`)).not.toContain(said);
  });

  it("may use the words that are no credential", () => {
    expect(shieldCredentials({ authorization: "Bearer a" })("Bearer a banana")).toBe(
      "[credential] banana",
    );
  });
});

describe("fifty callers at a time", () => {
  it("all have their runs", async () => {
    const server = await openAcp();
    const { daemon } = await openHosted(server, {
      tables: { limits: { handler_timeout_ms: 100_000 } },
    });
    const replies = await Promise.all(
      Array.from({ length: 50 }, async () =>
        askThrough(await daemon.connect())(MAYA, execute({ wait_seconds: 90 })),
      ),
    );
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(replies.map(({ body }) => body["run_id"])).size).toBe(50);
  });
});
