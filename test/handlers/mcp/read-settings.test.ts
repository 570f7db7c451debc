import { describe, expect, it } from "vitest";
import { Secrets } from "../../../src/handlers/mcp/read-settings.ts";

describe("Secrets", () => {
  it("are concealed whole, and a line of several each", () => {
    const env = { TOKEN: "hush-hush", KEY: "first line\nsecond line", SHORT: "on", EMPTY: "" };
    const secrets = new Secrets({
      place: { kind: "command", command: "node", args: [], env, cwd: "/" },
    });
    expect(secrets.conceal("hush-hush, on")).toBe("[secret], on");
    expect(secrets.conceal("first line\nsecond line")).toBe("[secret]");
    expect(secrets.conceal("it begins with first line")).toBe("it begins with [secret]");
  });
});
