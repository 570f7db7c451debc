import { describe, expect, it } from "vitest";
import { checkDeployment } from "../../src/app/daemon.ts";
import { createLog } from "../../src/base/log.ts";
import { formatProblem, isError } from "../../src/base/problem.ts";
import { type DeploymentFiles, endpointFile, makeDeployment } from "../support/deployment.ts";
import { discoveryFiles } from "../support/discovery.ts";

async function check(files: DeploymentFiles): Promise<readonly string[]> {
  const { configPath } = makeDeployment(files);
  const log = createLog("silent", { write: () => undefined, flush: () => Promise.resolve() });
  const problems = await checkDeployment({ configPath, env: {}, log });
  return problems.filter(isError).map(formatProblem);
}

const BROKEN_PARTS: DeploymentFiles = {
  "endpoints/z-bound-to-nothing.toml": endpointFile({
    method: "CANCEL",
    path: "/room",
    handler: { type: "registered_function", function: "handlers.missing" },
  }),
  "endpoints/z-custom.toml": endpointFile({ method: "FROB", path: "/room" }),
  "recipes/z-empty.toml": '[[recipe]]\nname = "r"\nversion = "1"\n',
};
const OF_BROKEN_PARTS = [
  expect.stringMatching(/^recipes\/z-empty\.toml: recipe\[0\]\.steps: /),
  expect.stringMatching(/^endpoints\/z-bound-to-nothing\.toml: endpoint\.handler\.function: /),
];

// AGTP-API §13.2
describe("checking a deployment whose configuration is refused", () => {
  it("says what is wrong with its other files as well, once", async () => {
    const policies = { rcns: { mode: "fast" }, methods: { custom: ["FROB", "lower"] } };
    const lines = await check({
      ...discoveryFiles({ policies, server: { prot: 1, port: "x" }, limits: { body_bytes: -1 } }),
      ...BROKEN_PARTS,
    });
    expect(lines).toHaveLength(new Set(lines).size);
    expect(lines).toEqual([
      expect.stringMatching(/^agtp-server\.toml: server\.prot: /),
      expect.stringMatching(/^agtp-server\.toml: server\.port: /),
      expect.stringMatching(/^agtp-server\.toml: limits\.body_bytes: /),
      expect.stringMatching(/^agtp-server\.toml: policies\.methods\.custom\[1\]: /),
      expect.stringMatching(/^agtp-server\.toml: policies\.rcns\.mode: /),
      ...OF_BROKEN_PARTS,
    ]);
  });

  it("does so for a method policy that contradicts itself", async () => {
    const aliases = { GET: "POST", POST: "GET" };
    const methods = { custom: ["FROB"], aliases };
    const lines = await check({ ...discoveryFiles({ policies: { methods } }), ...BROKEN_PARTS });
    expect(lines).toEqual([
      expect.stringMatching(/^agtp-server\.toml: policies\.methods\.aliases\.GET: /),
      expect.stringMatching(/^agtp-server\.toml: policies\.methods\.aliases\.POST: /),
      ...OF_BROKEN_PARTS,
    ]);
  });

  it("says nothing of endpoints where it is not known where they are", async () => {
    const lines = await check({ ...discoveryFiles({ endpoints: { dir: 5 } }), ...BROKEN_PARTS });
    expect(lines).toEqual([expect.stringMatching(/^agtp-server\.toml: endpoints\.dir: /)]);
  });
});
