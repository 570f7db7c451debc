import { describe, expect, it } from "vitest";
import type { Config } from "../../../src/app/config/config.ts";
import type { HttpRoute } from "../../../src/dispatch/module/http-route.ts";
import { ApiListing } from "../../../src/modules/gateway/module.ts";

function listing(
  gateway: object,
  apis: readonly object[] = [],
  routes: readonly HttpRoute[] = [],
): ApiListing {
  const server = { host: "127.0.0.1", port: 4480 };
  const defaults = { enabled: true, host: "127.0.0.1", port: 8080, corsOrigins: [], hosts: [] };
  const config = { server, apis, gateway: { ...defaults, ...gateway } } as unknown as Config;
  return new ApiListing(config, () => routes);
}

// AGTP-API §5.8.5
describe("the listing of HTTP APIs", () => {
  it("names the sidecar, where it is, and its document", () => {
    expect(listing({}, [{ name: "orders" }]).entries).toEqual([
      { name: "orders" },
      {
        name: "http-gateway",
        description: expect.any(String),
        base_url: "http://127.0.0.1:8080",
        http_documentation: "http://127.0.0.1:8080/openapi.json",
      },
    ]);
    expect(listing({ enabled: false }, [{ name: "orders" }]).entries).toEqual([{ name: "orders" }]);
  });

  it("knows a port that the system chose once it is bound", () => {
    const one = listing({ port: 0 });
    expect(one.entries[0]).not.toHaveProperty("base_url");
    const before = one.entries;
    expect(one.entries).toBe(before);
    one.bind({ agtp: 4480, gateway: 1234 });
    expect(one.entries[0]).toMatchObject({ base_url: "http://127.0.0.1:1234" });
    one.bind({ agtp: 4481, gateway: undefined });
    expect(one.entries).toEqual([]);
    expect(one.manifestUri).toBe("agtp://127.0.0.1:4481");
  });

  it("adds the other APIs, each once", () => {
    const api = { name: "openwop", description: "Runs.", documentation: "/v1/doc" };
    const plugin = (): void => undefined;
    const one = listing(
      {},
      [],
      ["/v1", "/.well-known/openwop"].map((prefix) => ({ prefix, api, plugin })),
    );
    expect(one.entries).toHaveLength(2);
    expect(one.entries[1]).toEqual({
      ...{ name: "openwop", description: "Runs.", base_url: "http://127.0.0.1:8080" },
      http_documentation: "http://127.0.0.1:8080/v1/doc",
    });
  });

  it("lets the operator's own entry stand", () => {
    expect(listing({}, [{ name: "http-gateway" }]).entries).toEqual([{ name: "http-gateway" }]);
  });

  it.each([
    [{ host: "::1" }, "http://[::1]:8080"],
    [{ port: 80 }, "http://127.0.0.1"],
    [{ cert: "c.pem", port: 443 }, "https://127.0.0.1"],
    [{ cert: "c.pem" }, "https://127.0.0.1:8080"],
    [{ host: "0.0.0.0" }, undefined],
    [{ host: "0.0.0.0", baseUrl: "https://api.acme.example/" }, "https://api.acme.example"],
  ])("finds %j at %s", (gateway, url) => {
    expect(listing(gateway).baseUrl).toBe(url);
  });
});
