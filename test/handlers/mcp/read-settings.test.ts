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

  it.each([
    ["begins with the letter of an escape", "nothing-at-all", "one\nothing-at-all", undefined],
    ["is a number", "12345678", 12345678, "[secret]"],
    ["is in a text", 's3cr3t"token', 's3cr3t"token, said again', "[secret], said again"],
    ["is in none", "s3cr3t-token", 42, 42],
  ])("one that %s leaves a value that is JSON", (_, token, said, concealed = said) => {
    const secrets = new Secrets({ place: { kind: "http", url: "", token } });
    expect(secrets.concealIn({ said, list: [said] })).toEqual({
      ...{ said: concealed, list: [concealed] },
    });
  });

  it("are concealed in the names of members, too", () => {
    const secrets = new Secrets({ place: { kind: "http", url: "", token: "s3cr3t-token" } });
    expect(secrets.concealIn({ "my s3cr3t-token": { a: true } })).toEqual({
      "my [secret]": { a: true },
    });
  });
});
