import { describe, expect, it } from "vitest";
import { type Config, configSchema } from "../../../src/app/config/config.ts";
import { exposedListeners, LISTENER_SECTIONS } from "../../../src/app/config/listeners.ts";

type Sockets = Parameters<typeof exposedListeners>[0];

function sockets(hosts: Readonly<Partial<Record<keyof Sockets, string>>>): Sockets {
  const made = LISTENER_SECTIONS.map((section) => {
    const host = hosts[section];
    return [section, { enabled: host !== undefined, host: host ?? "0.0.0.0" }];
  });
  return { ...Object.fromEntries(made), server: { host: hosts.server ?? "127.0.0.1" } } as Sockets;
}

describe("exposedListeners", () => {
  it("are none where everything is on loopback, and none that is not enabled counts", () => {
    expect(exposedListeners(sockets({}), "anything")).toEqual([]);
    const local = sockets({ server: "::1", gateway: "localhost", metrics: "127.0.0.9" });
    expect(exposedListeners(local, "anything")).toEqual([]);
  });

  it.each([
    ["claims", ["server"]],
    ["calls", ["server", "gateway"]],
    ["anything", ["server", "gateway", "metrics"]],
  ] as const)("are those that let %s in", (reach, keys) => {
    const open = sockets({ server: "0.0.0.0", gateway: "::", metrics: "10.0.0.1" });
    expect(exposedListeners(open, reach).map(({ key }) => key)).toEqual(keys);
  });

  it("knows every section of the configuration that opens a socket", () => {
    const listening = Object.entries(configSchema["properties"] as Readonly<Record<string, object>>)
      .filter(([, section]) => {
        const { properties = {} } = section as { readonly properties?: object };
        return "host" in properties && "port" in properties;
      })
      .map(([name]) => name as keyof Config);
    expect(listening).toEqual(expect.arrayContaining([...LISTENER_SECTIONS]));
    expect(listening).toHaveLength(LISTENER_SECTIONS.length);
  });
});
