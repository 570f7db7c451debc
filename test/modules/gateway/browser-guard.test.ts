import { describe, expect, it } from "vitest";
import {
  createHostPolicy,
  createOriginPolicy,
} from "../../../src/modules/gateway/browser-guard.ts";

function judge(
  settings: Partial<Parameters<typeof createHostPolicy>[0]>,
  said: string | undefined,
  target = "/",
): "ours" | "another" {
  const isOurs = createHostPolicy({ host: "127.0.0.1", hosts: [], ...settings });
  return isOurs({ target, said }) ? "ours" : "another";
}

// RFC 9110 §7.4
describe("createHostPolicy", () => {
  it.each([
    ...["localhost", "LOCALHOST:8080", "localhost.", "a.localhost:1", "127.0.0.1:8080"],
    ...["127.8.9.1", "[::1]:8080", "172.17.0.1:8080", "sidecar:8080"],
  ])("answers to %s on loopback", (host) => {
    expect(judge({}, host)).toBe("ours");
  });

  it.each([
    ...["evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example"],
    ...["", "localhost@evil.example", "a b", "[::1", "127.0.0.256", "0x7f.1"],
    ...["localhost:8080:1", "evil.example,localhost", "evil.localhost.example"],
  ])("does not answer to %j there", (host) => {
    expect(judge({}, host)).toBe("another");
  });

  it("answers to its configured names, and to that of its base_url", () => {
    const settings = { hosts: ["api.acme.example"], baseUrl: "https://Shop.acme.example/api" };
    expect(judge(settings, "api.acme.example:443")).toBe("ours");
    expect(judge(settings, "shop.acme.example")).toBe("ours");
    expect(judge(settings, "localhost")).toBe("ours");
    expect(judge(settings, "acme.example")).toBe("another");
  });

  it("answers to every name beyond loopback, unless there is a list", () => {
    const host = "192.0.2.7";
    expect(judge({ host }, "anything.example")).toBe("ours");
    expect(judge({ host, hosts: ["api.acme.example"] }, "anything.example")).toBe("another");
    expect(judge({ host, hosts: ["api.acme.example"] }, "192.0.2.7:80")).toBe("ours");
    expect(judge({ host, hosts: ["api.acme.example"] }, "localhost")).toBe("another");
  });

  it("takes a target in absolute-form at its word, too", () => {
    expect(judge({}, "localhost", "http://evil.example/orders/7")).toBe("another");
    expect(judge({}, "evil.example", "http://localhost/orders/7")).toBe("another");
    expect(judge({}, "localhost", "HTTP://LOCALHOST:8080?x=1")).toBe("ours");
    expect(judge({}, "localhost", "http://localhost@evil.example/")).toBe("another");
  });

  it("asks nothing of HTTP/1.0, which need not say", () => {
    expect(judge({}, undefined)).toBe("ours");
  });
});

const PAGE = "https://app.example";

function ask(method: string, origin?: string, asksFor?: string) {
  return { method, origin, asksFor, site: undefined };
}

// Fetch "CORS protocol"
describe("createOriginPolicy", () => {
  it("lets no page read an answer unless its origin is configured", () => {
    const judge = createOriginPolicy([]);
    expect(judge(ask("GET"))).toEqual({ kind: "same", fields: [] });
    expect(judge(ask("GET", PAGE))).toEqual({ kind: "reading", fields: [] });
    expect(judge(ask("OPTIONS", PAGE, "POST"))).toEqual({ kind: "reading", fields: [] });
  });

  // Fetch Metadata "Sec-Fetch-Site"
  it.each([
    ["GET", undefined, "same"],
    ["GET", "none", "same"],
    ["GET", "same-origin", "same"],
    ["GET", "cross-site", "reading"],
    ["HEAD", "same-site", "reading"],
    ["POST", "cross-site", "refused"],
    ["POST", "same-origin", "same"],
  ])("knows a %s without Origin by the site %s as %s", (method, site, kind) => {
    expect(createOriginPolicy([PAGE])({ ...ask(method), site }).kind).toBe(kind);
  });

  it("lets a configured page call from its own site", () => {
    const judge = createOriginPolicy([PAGE]);
    expect(judge({ ...ask("POST", PAGE), site: "cross-site" }).kind).toBe("same");
  });

  it.each(["POST", "PUT", "PATCH", "DELETE", "NOTIFY"])(
    "does nothing that could change something for a page elsewhere that sends %s",
    (method) => {
      const judge = createOriginPolicy([PAGE]);
      expect(judge(ask(method, "https://evil.example"))).toEqual({ kind: "refused" });
      expect(judge(ask(method, "null"))).toEqual({ kind: "refused" });
      expect(judge(ask(method, PAGE)).kind).toBe("same");
      expect(judge(ask(method)).kind).toBe("same");
    },
  );

  it("tells a configured page what it may send and read", () => {
    const judge = createOriginPolicy([PAGE]);
    const answer = judge(ask("GET", PAGE));
    expect(answer).toMatchObject({ kind: "same" });
    const names = "fields" in answer ? answer.fields.map(([name]) => name) : [];
    expect(names).toEqual(["vary", "access-control-allow-origin", "access-control-expose-headers"]);
    expect(judge(ask("OPTIONS", PAGE, "DELETE"))).toMatchObject({ kind: "preflight" });
    expect(judge(ask("OPTIONS", PAGE)).kind).toBe("same");
  });

  it.each(["GET", "PATCH", "QUERY", "SEARCH", "NOTIFY"])("lets it send %s", (method) => {
    const answer = createOriginPolicy([PAGE])(ask("OPTIONS", PAGE, method));
    const fields = new Map("fields" in answer ? answer.fields : []);
    expect(fields.get("access-control-allow-methods")?.split(", ")).toContain(method);
  });

  it("lets it send the context of its trace, and read what is said for its next call", () => {
    const judge = createOriginPolicy([PAGE]);
    const asked = judge(ask("OPTIONS", PAGE, "GET"));
    const sent = new Map("fields" in asked ? asked.fields : []).get("access-control-allow-headers");
    expect(sent?.split(", ")).toEqual(expect.arrayContaining(["Traceparent", "Tracestate"]));
    const answer = judge(ask("GET", PAGE));
    const fields = new Map("fields" in answer ? answer.fields : []);
    const read = fields.get("access-control-expose-headers")?.split(", ");
    const names = ["Continuation-Token", "Contract-Synthesized", "Idempotency-Replayed"];
    expect(read).toEqual(expect.arrayContaining(names));
  });

  it("does not let it send what the sidecar takes from nobody", () => {
    const answer = createOriginPolicy([PAGE])(ask("OPTIONS", PAGE, "BREW"));
    const fields = new Map("fields" in answer ? answer.fields : []);
    const methods = "GET, HEAD, POST, PUT, PATCH, DELETE, QUERY";
    expect(fields.get("access-control-allow-methods")).toBe(methods);
  });
});
