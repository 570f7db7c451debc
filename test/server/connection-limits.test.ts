/** How many connections come in, and from where. */
import { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { ConnectionCaps } from "../../src/server/connection-limits.ts";
import type { LimitsConfig } from "../../src/wire/limits-section.ts";

describe("the connections from one address", () => {
  const caps = (most: number): ConnectionCaps =>
    new ConnectionCaps(
      () => ({ maxConnections: 10, maxConnectionsPerAddress: most }) as LimitsConfig,
    );

  it("are bounded, and their places are free once they are closed", async () => {
    const some = caps(1);
    const socket = new Socket();
    some.admit(socket, "203.0.113.7");
    expect(some.hasRoom("203.0.113.7")).toBe(false);
    expect(some.hasRoom("203.0.113.8")).toBe(true);
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.destroy();
    await closed;
    expect(some.hasRoom("203.0.113.7")).toBe(true);
  });

  it("are those of all that one host may have of IPv6", () => {
    const some = caps(2);
    for (const address of ["2001:db8::1", "2001:db8::2"]) some.admit(new Socket(), address);
    expect(some.hasRoom("2001:db8::ffff:3")).toBe(false);
    expect(some.hasRoom("2001:db8:0:1::1")).toBe(true);
  });
});
