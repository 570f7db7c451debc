import { describe, expect, it } from "vitest";
import { describeProblem, formatProblem } from "../../src/base/problem.ts";

describe("formatProblem", () => {
  it.each([
    [
      { file: "a.toml", key: "server.port", message: "is 0", hint: "write 1" },
      "a.toml: server.port: is 0 (write 1)",
    ],
    [{ file: "a.toml", key: "", message: "does not exist" }, "a.toml: does not exist"],
    [{ file: "", key: "", message: "no worker serves" }, "no worker serves"],
  ])("names the file and the key that there are: %j", (problem, line) => {
    expect(formatProblem(problem)).toBe(line);
    expect(describeProblem({ ...problem, severity: "warning" })).toBe(`warning: ${line}`);
  });

  it("tells no more than the beginning of a name as long as its file", () => {
    const long = "x".repeat(1_000_000);
    const line = formatProblem({ file: "a.toml", key: long, message: `unknown key "${long}"` });
    expect(line).toMatch(/^a\.toml: x{256}…: unknown key "x+…$/);
    expect(line.length).toBeLessThan(5_000);
  });
});
