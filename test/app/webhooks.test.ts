/** Notifications on their way to webhooks over HTTPS: signed, bounded, retried, through a kill. */
import { readFileSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startProgram } from "../support/agtpd.ts";
import { openDaemon, type RawClient, type TestDaemon } from "../support/daemon.ts";
import { type DeploymentFiles, makeDeployment } from "../support/deployment.ts";
import { makeDirectory } from "../support/directory.ts";
import { encodeRequest, type TestReply } from "../support/dispatch.ts";
import { ALICE, hostedFiles } from "../support/hosted-agents.ts";
import { type HttpsUpstream, type SeenRequest, startUpstream } from "../support/https-upstream.ts";
import { ROOT } from "../support/source-tree.ts";

const SECRET = "kept between us";

let upstream: HttpsUpstream;

beforeAll(async () => {
  upstream = await startUpstream();
});
afterAll(() => upstream.close());

type Answer = number | ((response: ServerResponse) => void);

/** The requests at a path, once so many have come; each is answered in turn, the last one again. */
function arrivals(path: string, answers: readonly Answer[]): Promise<readonly SeenRequest[]> {
  const seen: SeenRequest[] = [];
  return new Promise((resolve) => {
    upstream.respond((response, request) => {
      if (request.url !== path) {
        response.writeHead(404).end();
        return;
      }
      seen.push(request);
      const answer = answers[seen.length - 1] ?? answers.at(-1) ?? 200;
      if (typeof answer === "number") response.writeHead(answer).end();
      else answer(response);
      if (seen.length === answers.length) resolve(seen);
    });
  });
}

function webhookFiles(path: string, changes: object = {}): DeploymentFiles {
  const recipients = { desk: `${upstream.origin}${path}` };
  const webhooks = { secret: SECRET, ca: "webhooks-ca.pem", recipients, ...changes };
  return hostedFiles({ inspect_acl: "public" }, { webhooks }, { "webhooks-ca.pem": upstream.ca });
}

function request(method: string, body: object): Buffer {
  return encodeRequest({ method, headers: { "Agent-ID": ALICE }, body });
}

function notify(more: object = {}): Buffer {
  const body = { recipient: "webhook:desk", content: { boat: 9 }, notification_id: "boat-1" };
  return request("NOTIFY", { ...body, ...more });
}

async function ask(server: Pick<TestDaemon, "connect">, bytes: Buffer): Promise<TestReply["body"]> {
  const client = await server.connect();
  const body = await askOver(client, bytes);
  client.destroy();
  return body;
}

async function askOver(client: RawClient, bytes: Buffer): Promise<TestReply["body"]> {
  const before = (await client.replies(0)).length;
  client.write(bytes);
  const reply = (await client.replies(before + 1))[before];
  if (reply?.status !== 200) throw new Error(`was answered ${reply?.status}: ${reply?.text}`);
  return reply.body["result"] as TestReply["body"];
}

/** The receipt of the webhook, once it says what is waited for. */
async function receiptOf(
  server: Pick<TestDaemon, "connect">,
  isWanted: (receipt: TestReply["body"]) => boolean,
): Promise<TestReply["body"]> {
  const inspect = request("INSPECT", { target: "notification", notification_id: "boat-1" });
  const client = await server.connect();
  for (;;) {
    const receipt = (await askOver(client, inspect))["receipts"]?.["0"] as TestReply["body"];
    if (!isWanted(receipt)) continue;
    client.destroy();
    return receipt;
  }
}

const isState = (state: string) => (receipt: TestReply["body"]) =>
  (receipt["state"] as unknown) === state;

type Verify = (secret: string, signature: string, body: string) => boolean;

/** What the document tells receivers to do. */
async function readVerifier(): Promise<Verify> {
  const text = readFileSync(join(ROOT, "docs/notifications.md"), "utf8");
  const [, code = ""] = /```js\n([\s\S]*?)```/.exec(text) ?? [];
  const file = join(makeDirectory({ "verify.mjs": code }), "verify.mjs");
  const { isGenuine } = (await import(pathToFileURL(file).href)) as { isGenuine: Verify };
  return isGenuine;
}

describe("a webhook", () => {
  it("gets a notification that it failed to take twice, signed each time", async () => {
    const server = await openDaemon(webhookFiles("/twice?key=t0ken"));
    const arrived = arrivals("/twice?key=t0ken", [500, 503, 204]);
    expect(await ask(server, notify())).toMatchObject({
      state: "queued",
      receipts: [{ recipient: "webhook:desk", state: "queued" }],
    });
    const seen = await arrived;
    const isGenuine = await readVerifier();
    for (const { headers, body } of seen) {
      const signature = String(headers["agtp-signature"]);
      expect(isGenuine(SECRET, signature, body)).toBe(true);
      expect(isGenuine("another secret", signature, body)).toBe(false);
      expect(isGenuine(SECRET, signature, `${body} `)).toBe(false);
      expect(isGenuine(SECRET, signature.replace(/^t=\d/, "t=2"), body)).toBe(false);
    }
    expect(new Set(seen.map(({ body }) => body)).size).toBe(1);
    const { method, headers, body = "" } = seen[0] ?? {};
    expect(method).toBe("POST");
    expect(headers).toMatchObject({
      "content-type": "application/json",
      "agtp-server-id": "test",
      "agtp-delivery-id": JSON.parse(body).delivery_id,
    });
    expect(JSON.parse(body)).toMatchObject({ notification_id: "boat-1", content: { boat: 9 } });
    expect(await receiptOf(server, isState("delivered"))).toEqual({
      recipient: "webhook:desk",
      state: "delivered",
      attempts: 3,
      delivered_at: expect.any(String),
    });
    const log = JSON.stringify(server.log);
    expect(log).toContain("webhook-delivered");
    expect(log).not.toMatch(new RegExp(`${SECRET}|t0ken`));
  });

  it("is not followed elsewhere", async () => {
    const server = await openDaemon(webhookFiles("/moved"));
    const arrived = arrivals("/moved", [
      (response) => response.writeHead(302, { location: `${upstream.origin}/elsewhere` }).end(),
    ]);
    await ask(server, notify({ delivery_guarantee: "at_most_once" }));
    await arrived;
    const failed = { state: "failed", attempts: 1, reason: "answered with status 302" };
    expect(await receiptOf(server, isState("failed"))).toMatchObject(failed);
    expect(upstream.seen.map(({ url }) => url)).not.toContain("/elsewhere");
  });

  it("cannot keep the server reading", async () => {
    const server = await openDaemon(webhookFiles("/endless"));
    const closed = new Promise<void>((resolve) => {
      void arrivals("/endless", [
        (response) => {
          response.writeHead(200);
          const write = (): void => {
            while (!response.destroyed && response.write("x".repeat(16_384)));
          };
          response
            .on("drain", write)
            .on("close", resolve)
            .on("error", () => undefined);
          write();
        },
      ]);
    });
    await ask(server, notify());
    await closed;
    expect(await receiptOf(server, isState("delivered"))).toMatchObject({ attempts: 1 });
  });

  it("has to show a certificate that is trusted", async () => {
    const other = await startUpstream();
    const files = { ...webhookFiles("/trusted"), "webhooks-ca.pem": other.ca };
    await other.close();
    const before = upstream.seen.length;
    const server = await openDaemon(files);
    await ask(server, notify({ delivery_guarantee: "at_most_once" }));
    const receipt = await receiptOf(server, isState("failed"));
    expect(receipt["reason"]).toBe("could not be reached");
    expect(upstream.seen.length).toBe(before);
  });

  it("gets no signature where there is no secret", async () => {
    const server = await openDaemon(webhookFiles("/plain", { secret: undefined }));
    const arrived = arrivals("/plain", [200]);
    await ask(server, notify());
    expect((await arrived)[0]?.headers).not.toHaveProperty("agtp-signature");
  });

  it("gets what waited for it where the configuration says that it is after a reload", async () => {
    const server = await openDaemon(webhookFiles("/before"));
    const failed = arrivals("/before", [500, 500]);
    await ask(server, notify());
    await failed;
    const { "agtp-server.toml": config = "" } = webhookFiles("/after");
    writeFileSync(join(server.directory, "agtp-server.toml"), config);
    expect(await server.daemon.reload()).toEqual([]);
    const arrived = arrivals("/after", [200]);
    await ask(server, notify({ notification_id: "boat-2" }));
    expect(await arrived).toHaveLength(1);
    const gone = "this server has no such webhook any more";
    const receipt = await receiptOf(server, ({ reason }) => (reason as unknown) === gone);
    expect(receipt["state"]).toBe("queued");
  });

  it("stops a start when its certificates cannot be read", async () => {
    const files = { ...webhookFiles("/x"), "webhooks-ca.pem": "no certificate" };
    await expect(openDaemon(files)).rejects.toThrow(/webhooks\.ca: .*holds no PEM certificate/);
  });
});

describe("a daemon that is killed between its answer and the delivery", () => {
  it("delivers after the next start, once", async () => {
    const { configPath } = makeDeployment(webhookFiles("/killed"));
    const failed = arrivals("/killed", [500]);
    const first = await startProgram(configPath);
    expect(await ask(first, notify())).toMatchObject({ state: "queued" });
    await failed;
    first.child.kill("SIGKILL");
    await first.outcome;
    const before = upstream.seen.length;
    const arrived = arrivals("/killed", [200]);
    const second = await startProgram(configPath);
    const [delivered] = await arrived;
    expect(JSON.parse(delivered?.body ?? "")).toMatchObject({ notification_id: "boat-1" });
    expect(await receiptOf(second, isState("delivered"))).toMatchObject({ state: "delivered" });
    expect(await ask(second, notify())).toMatchObject({ state: "queued" });
    second.child.kill("SIGTERM");
    expect((await second.outcome).code).toBe(0);
    expect(upstream.seen.slice(before)).toEqual([delivered]);
  });
});
