/** Asking policy engines and key sets, over HTTP as it is. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createAskJson } from "../../../src/modules/agentcli/create-world.ts";
import { startUpstream } from "../../support/https-upstream.ts";

describe("asking for JSON", () => {
  const ask = createAskJson();
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    if (request.url === "/moved") response.writeHead(302, { location: "/policy?a=1" }).end("{}");
    else if (request.url === "/words") response.end("no JSON");
    else if (request.url === "/flood") response.end(" ".repeat(1_048_577));
    else response.writeHead(200, { "cache-control": "public, max-age=60" }).end('{"allow":true}');
  });
  let origin = "";

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });

  it("posts a body, gets without one, and says how long the answer is good", async () => {
    const answer = { kind: "json", value: { allow: true }, maxAgeSeconds: 60 };
    expect(await ask(`${origin}/policy?a=1`, { input: 1 })).toEqual(answer);
    expect(await ask(`${origin}/keys`)).toEqual(answer);
    expect(seen.splice(0)).toEqual(["POST /policy?a=1", "GET /keys"]);
  });

  it.each([
    ["/moved", "answered HTTP 302"],
    ["/words", "answered no JSON"],
    ["/flood", "answered more than 1048576 bytes"],
  ])("says what is wrong with the answer of %s", async (path, message) => {
    expect(await ask(origin + path)).toEqual({ kind: "fault", message });
    expect(seen.splice(0)).toEqual([`GET ${path}`]);
  });

  it("says what is no address", async () => {
    expect(await ask("nowhere")).toMatchObject({ kind: "fault" });
  });

  it("verifies who answers, whatever the environment says", async () => {
    const upstream = await startUpstream();
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    try {
      const message = expect.stringContaining("self-signed certificate");
      expect(await ask(upstream.origin)).toEqual({ kind: "fault", message });
      expect(upstream.seen).toEqual([]);
    } finally {
      vi.unstubAllEnvs();
      await upstream.close();
    }
  });
});
