import { type LookupAddress, lookup } from "node:dns";
import { Agent, request } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectionOptions, createUpstreamLookup } from "../../src/handlers/connection-options.ts";
import type { Resolve } from "../../src/handlers/shared-look-ups.ts";
import { startUpstream } from "../support/https-upstream.ts";

function asFound(address: string): LookupAddress {
  return { address, family: address.includes(":") ? 6 : 4 };
}

/** A resolver that gives these, each list for one question, the last for all others. */
function resolver(...answers: readonly (readonly string[])[]): Resolve {
  let asked = 0;
  return (_, __, callback) => {
    const found = answers[Math.min(asked, answers.length - 1)] ?? [];
    asked += 1;
    callback(null, found.map(asFound));
  };
}

/** The addresses that a connection would be made to. */
function addressesOf(hostname: string, found: readonly string[]): readonly string[] {
  let said: readonly string[] = [];
  createUpstreamLookup(resolver(found))(hostname, { all: true }, (error, addresses) => {
    if (error === null && typeof addresses === "object") {
      said = addresses.map(({ address }) => address);
    }
  });
  return said;
}

// RFC 6761 §6.3, RFC 6890
describe("the name of an upstream", () => {
  it.each([
    ...["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::"],
    ...["169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "224.0.0.1", "255.255.255.255"],
    "ff02::1",
  ])("does not stand for %s", (address) => {
    expect(addressesOf("api.example", [address])).toEqual([]);
    expect(addressesOf("api.example", [address, "192.0.2.1"])).toEqual(["192.0.2.1"]);
  });

  it.each(["192.0.2.1", "10.0.0.1", "192.168.0.9", "2001:db8::1", "fd00::1"])(
    "may stand for %s",
    (address) => {
      expect(addressesOf("api.internal", [address])).toEqual([address]);
    },
  );

  it.each(["localhost", "LOCALHOST", "api.localhost", "localhost."])(
    "stands for this machine as %s, and for no other",
    (name) => {
      expect(addressesOf(name, ["127.0.0.1", "::1", "10.0.0.1"])).toEqual(["127.0.0.1", "::1"]);
    },
  );

  it.each(["localhost.example", "localhosts", "notlocalhost", "localhost.example.", "localhost.."])(
    "does not stand for this machine as %s",
    (name) => {
      expect(addressesOf(name, ["127.0.0.1", "192.0.2.1"])).toEqual(["192.0.2.1"]);
    },
  );

  it("is one address for who asks for one, and a fault of the resolver's stays one", () => {
    const found: unknown[] = [];
    const find = createUpstreamLookup(resolver(["127.0.0.1", "192.0.2.1"]));
    find("api.example", {}, (...answer) => void found.push(answer));
    const fault = Object.assign(new Error("no such name"), { code: "ENOTFOUND" });
    const failing = createUpstreamLookup((_, __, callback) => callback(fault, []));
    failing("api.example", {}, (...answer) => void found.push(answer));
    expect(found).toEqual([
      [null, "192.0.2.1", 4],
      [fault, ""],
    ]);
  });
});

describe("a connection to an upstream whose name changes", () => {
  async function open(resolve: Resolve) {
    const upstream = await startUpstream();
    onTestFinished(() => upstream.close());
    const dispatcher = new Agent({
      ...connectionOptions({
        ...{ connections: 4, connectTimeoutMs: 5_000, ca: upstream.ca },
        lookup: createUpstreamLookup(resolve),
      }),
    });
    onTestFinished(() => dispatcher.destroy());
    const ask = (name: string) =>
      request(`https://${name}:${upstream.port}/`, { dispatcher, reset: true });
    return { upstream, ask };
  }

  it("is not made to this machine, whatever the name said when it was looked at before", async () => {
    // First an address that may be, which nobody answers at, then this machine's.
    const { upstream, ask } = await open(resolver(["127.0.0.1"]));
    await expect(ask("rebound.example")).rejects.toMatchObject({
      code: "ERR_AGTP_UPSTREAM_ADDRESS",
    });
    expect(upstream.connections).toBe(0);
  });

  it("is looked at for every connection", async () => {
    const { upstream, ask } = await open(resolver(["127.0.0.1"], ["10.0.0.1"]));
    const { statusCode, body } = await ask("localhost");
    await body.dump();
    expect(statusCode).toBe(200);
    await expect(ask("localhost")).rejects.toMatchObject({ code: "ERR_AGTP_UPSTREAM_ADDRESS" });
    expect(upstream.connections).toBe(1);
  });

  it("is made by the system's own resolver", async () => {
    const { ask } = await open(lookup as Resolve);
    expect((await ask("localhost")).statusCode).toBe(200);
  });
});
