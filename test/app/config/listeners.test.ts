import { describe, expect, it } from "vitest";
import { type Config, configSchema } from "../../../src/app/config/config.ts";
import {
  exposedListeners,
  exposureChecks,
  LISTENER_SECTIONS,
} from "../../../src/app/config/listeners.ts";

type Sockets = Parameters<typeof exposedListeners>[0];

function sockets(hosts: Readonly<Partial<Record<keyof Sockets, string>>>): Sockets {
  const made = LISTENER_SECTIONS.map((section) => {
    const host = hosts[section];
    return [section, { enabled: host !== undefined, host: host ?? "0.0.0.0" }];
  });
  return { ...Object.fromEntries(made), server: { host: hosts.server ?? "127.0.0.1" } } as Sockets;
}

describe("listeners of one port", () => {
  const check = exposureChecks[0]?.check;
  function problemsOf(places: Readonly<Record<string, readonly [string, number]>>): string[] {
    const made = Object.entries(places).map(([name, [host, port]]) => {
      return [name, { enabled: true, host, port }] as const;
    });
    const closed = { enabled: false, host: "127.0.0.1", port: 4480 };
    const others = Object.fromEntries(LISTENER_SECTIONS.map((name) => [name, closed]));
    const found: string[] = [];
    check?.({ ...others, ...Object.fromEntries(made) } as unknown as Config, (key, message) => {
      found.push(`${key}: ${message}`);
    });
    return found;
  }

  it.each([
    ["127.0.0.1", "127.0.0.1"],
    ["0.0.0.0", "10.0.0.1"],
    ["::1", "::"],
    ["localhost", "127.0.0.1"],
    ["Inn.example", "inn.example"],
  ])("are a problem on %s and %s", (one, other) => {
    expect(problemsOf({ server: [one, 4480], gateway: [other, 4480] })).toEqual([
      "gateway.port: must be another than server.port, 4480",
    ]);
    expect(problemsOf({ server: ["10.0.0.2", 1], metrics: [one, 9], console: [other, 9] })).toEqual(
      ["console.port: must be another than metrics.port, 9"],
    );
  });

  it("are none on other addresses, on other ports, on any free port, and where none is enabled", () => {
    expect(problemsOf({ server: ["127.0.0.1", 4480], gateway: ["127.0.0.2", 4480] })).toEqual([]);
    expect(problemsOf({ server: ["::1", 4480], gateway: ["127.0.0.1", 4480] })).toEqual([]);
    expect(problemsOf({ server: ["::1", 0], gateway: ["::1", 0] })).toEqual([]);
    expect(problemsOf({ server: ["127.0.0.1", 4480] })).toEqual([]);
  });
});

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
