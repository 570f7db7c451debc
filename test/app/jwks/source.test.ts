import { describe, expect, it, onTestFinished } from "vitest";
import { createJwksSource, type JwksSource, lifetimeOf } from "../../../src/app/jwks/source.ts";
import { openJwksServer } from "../../support/jwks-server.ts";
import { makeIssuerKey } from "../../support/token-issuer.ts";

function open(uri: string, ca?: string): JwksSource {
  const source = createJwksSource({ uri, ...(ca === undefined ? {} : { ca }) });
  onTestFinished(() => source.close());
  return source;
}

describe("createJwksSource", () => {
  it.each(["http", "https"] as const)("fetches the keys over %s", async (scheme) => {
    const server = await openJwksServer(scheme);
    const { jwk } = await makeIssuerKey();
    server.publish([jwk, { kty: "oct", k: "AAAA" }], { "cache-control": "public, max-age=120" });
    const fetched = await open(server.uri, server.ca).fetch();
    if (fetched.fault !== undefined) throw new Error(fetched.fault);
    expect(fetched.set.has("key-1")).toBe(true);
    expect(fetched.ignored).toEqual(["keys[1] is symmetric, so it is ignored"]);
    expect(fetched.lifetimeMs).toBe(120_000);
    expect(server.requests[0]?.headers).toMatchObject({ "accept-encoding": "identity" });
  });

  it("does not believe a server whose certificate nobody vouches for", async () => {
    const server = await openJwksServer("https");
    server.publish([(await makeIssuerKey()).jwk]);
    expect(await open(server.uri).fetch()).toHaveProperty("fault");
    expect(server.requests).toEqual([]);
  });

  it.each([301, 302, 307, 308])("follows no redirect (%i)", async (status) => {
    const [server, other] = await Promise.all([openJwksServer(), openJwksServer()]);
    other.publish([(await makeIssuerKey()).jwk]);
    server.respond((response) => response.writeHead(status, { location: other.uri }).end());
    expect(await open(server.uri).fetch()).toEqual({
      fault: `answered with status ${status}, expected 200`,
    });
    expect(other.requests).toEqual([]);
  });

  it.each([
    ["not JSON", "<html>"],
    ["no key set", "[]"],
    ["not UTF-8", Buffer.from([0x7b, 0xff, 0x7d])],
    ["the same member twice", '{"keys":[],"keys":[]}'],
  ])("refuses a body that is %s", async (_, body) => {
    const server = await openJwksServer();
    server.respond((response) => response.end(body));
    expect(await open(server.uri).fetch()).toHaveProperty("fault");
  });

  it("reads a mebibyte and no more, whatever length the server announces", async () => {
    const server = await openJwksServer();
    server.respond((response) => {
      const timer = setInterval(() => response.write(" ".repeat(262_144)), 1);
      response.on("close", () => clearInterval(timer));
    });
    expect(await open(server.uri).fetch()).toEqual({ fault: "must be at most 1048576 bytes long" });
  });

  it("says why nobody answers", async () => {
    const server = await openJwksServer();
    await server.close();
    expect(await open(server.uri).fetch()).toMatchObject({
      fault: expect.stringMatching(/ECONNREFUSED/),
    });
  });

  it("gives up when it is closed", async () => {
    const server = await openJwksServer();
    const source = open(server.uri);
    const asked = new Promise<void>((resolve) => server.respond(() => resolve()));
    const fetched = source.fetch();
    await asked;
    await source.close();
    expect(await fetched).toHaveProperty("fault");
    expect(await source.fetch()).toHaveProperty("fault");
  });
});

// RFC 9111 §5.2.2
describe("lifetimeOf", () => {
  it.each([
    [undefined, 600],
    ["", 600],
    ["public", 600],
    ["max-age=90", 90],
    ["Public, Max-Age=90", 90],
    ['max-age="90"', 90],
    ["max-age=0", 60],
    ["max-age=-5", 600],
    ["max-age=86400", 3600],
    [`max-age=${"9".repeat(400)}`, 3600],
    ["s-maxage=90", 600],
    ["no-store", 60],
    ["no-cache, max-age=900", 60],
  ])("of %j is %i seconds", (header, seconds) => {
    expect(lifetimeOf(header)).toBe(seconds * 1000);
  });

  it("takes a field that was sent twice", () => {
    expect(lifetimeOf(["public", "max-age=90"])).toBe(90_000);
  });
});
