import { describe, expect, it } from "vitest";
import { createOriginPolicy } from "../../../src/modules/gateway/browser-guard.ts";

const PAGE = "https://app.example";

function ask(method: string, origin?: string, asksFor?: string) {
  return { method, origin, asksFor };
}

// Fetch "CORS protocol"
describe("createOriginPolicy", () => {
  it("lets no page read an answer unless its origin is configured", () => {
    const judge = createOriginPolicy([]);
    expect(judge(ask("GET"))).toEqual({ kind: "same", fields: [] });
    expect(judge(ask("GET", PAGE))).toEqual({ kind: "same", fields: [] });
    expect(judge(ask("OPTIONS", PAGE, "POST"))).toEqual({ kind: "same", fields: [] });
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
});
