import { describe, expect, it } from "vitest";
import { ownAddress } from "../../src/identity/own-address.ts";

const server = { serverId: "s1", domain: "inn.example", host: "127.0.0.1", port: 4481 };

// AGTP "URI Scheme"
describe("ownAddress", () => {
  it.each([
    "s1",
    "S1",
    "inn.example",
    "agtp.inn.example",
    "localhost",
    "127.0.0.1",
    "[::1]",
    "::1",
  ])("knows the server as %s, at its own port or without one", (host) => {
    const isOwn = ownAddress(server);
    const ports = [undefined, 4481, 4480, 0, Number.NaN];
    expect(ports.map((port) => isOwn(host, port))).toEqual([true, true, false, false, false]);
  });

  it("knows it by a name that is configured in capitals", () => {
    const isOwn = ownAddress({ ...server, serverId: "Inn-1", domain: "Inn.Example" });
    for (const host of ["inn-1", "INN-1", "agtp.inn.example"]) expect(isOwn(host, 4481)).toBe(true);
  });

  it("knows no others, and localhost only where it listens there", () => {
    expect(ownAddress(server)("other.example", 4481)).toBe(false);
    expect(ownAddress({ ...server, host: "192.0.2.1" })("localhost", 4481)).toBe(false);
  });

  it("takes any port for its own while it listens on any free one", () => {
    const isOwn = ownAddress({ ...server, port: 0 });
    const ports = [undefined, 4480, 9, Number.NaN];
    expect(ports.map((port) => isOwn("s1", port))).toEqual([true, true, true, false]);
  });
});
