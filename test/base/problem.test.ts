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
});
