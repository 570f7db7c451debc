import { afterEach, describe, expect, it } from "vitest";
import type { Config } from "../../src/app/config/config.ts";
import { loadConfig } from "../../src/app/config/load.ts";
import { loadDeployment } from "../../src/app/deployment.ts";
import type { Drive } from "../../src/base/paced.ts";
import { agentFile, configFile, endpointFile, makeDeployment } from "../support/deployment.ts";
import { outsideOf, SILENT_OBSERVER } from "../support/dispatch.ts";

const FEW = 20;
const MANY = 600;
/** So many are put in order in one step. */
const RUN = 512;

/** What an endpoint or an agent of these files is called. */
const OWN = /\/things\/n\d|\bagent\d/;
const TEXT = ["slice", "split", "startsWith", "includes", "toLowerCase"] as const;
const UNTOUCHED = {
  text: TEXT.map((name) => [name, String.prototype[name]] as const),
  ...{ set: Map.prototype.set, get: Map.prototype.get, add: Set.prototype.add },
  ...{ sort: Array.prototype.sort, toSorted: Array.prototype.toSorted },
};

/** Counts what is done with names of endpoints and agents between two points where others have their turn. */
function countTouches() {
  let done = 0;
  let most = 0;
  const touch = (value: unknown): void => {
    if (typeof value === "string" && OWN.test(value)) done += 1;
  };
  for (const [name, original] of UNTOUCHED.text) {
    Object.assign(String.prototype, {
      [name](this: string, ...args: readonly unknown[]): unknown {
        touch(this.valueOf());
        return Reflect.apply(original, this, args);
      },
    });
  }
  Map.prototype.set = function (...entry) {
    touch(entry[0]);
    return UNTOUCHED.set.apply(this, entry);
  };
  Map.prototype.get = function (key) {
    touch(key);
    return UNTOUCHED.get.call(this, key);
  };
  Set.prototype.add = function (value) {
    touch(value);
    return UNTOUCHED.add.call(this, value);
  };
  Array.prototype.sort = function (...compare) {
    if (this.length > RUN) done += this.length;
    return UNTOUCHED.sort.apply(this, compare);
  };
  Array.prototype.toSorted = function (...compare) {
    if (this.length > RUN) done += this.length;
    return UNTOUCHED.toSorted.apply(this, compare);
  };
  const pause = (): void => {
    most = Math.max(most, done);
    done = 0;
  };
  const drive: Drive = (work) => {
    for (;;) {
      pause();
      const step = work.next();
      pause();
      if (step.done === true) return step.value;
    }
  };
  return {
    drive,
    most: () => {
      pause();
      return most;
    },
  };
}

afterEach(() => {
  Object.assign(String.prototype, Object.fromEntries(UNTOUCHED.text));
  Map.prototype.set = UNTOUCHED.set;
  Map.prototype.get = UNTOUCHED.get;
  Set.prototype.add = UNTOUCHED.add;
  Array.prototype.sort = UNTOUCHED.sort;
  Array.prototype.toSorted = UNTOUCHED.toSorted;
});

function filesOf(count: number) {
  const numbers = Array.from({ length: count }, (_, at) => at);
  return {
    "agtp-server.toml": configFile({ policies: { synthesis_enabled: true } }),
    "handlers.mjs": "export const echo = () => ({ body: {} });\nexport default echo;\n",
    ...Object.fromEntries(
      numbers.flatMap((at) => [
        [`endpoints/e${at}.toml`, endpointFile({ method: "QUERY", path: `/things/n${at}` })],
        [
          `agents/a${at}.agent.json`,
          agentFile({ agent_id: at.toString(16).padStart(64, "0"), name: `agent${at}` }),
        ],
      ]),
    ),
  };
}

function configOf(count: number): Config {
  const { config } = loadConfig(makeDeployment(filesOf(count)).configPath, {});
  if (config === undefined) throw new Error("the configuration has problems");
  return config;
}

async function mostOfLoading(count: number): Promise<number> {
  const config = configOf(count);
  const outside = await outsideOf(SILENT_OBSERVER);
  const { drive, most } = countTouches();
  const { deployment } = await loadDeployment(config, { ...outside, env: {}, drive });
  expect(deployment?.directory.list()).toHaveLength(count);
  await deployment?.close();
  return most();
}

// What a reload does in one go must not depend on how much there is.
describe("loading thirty times as many endpoints and agents", () => {
  it("does no more without a pause", async () => {
    const few = await mostOfLoading(FEW);
    const many = await mostOfLoading(MANY);
    expect(many - few).toBeLessThan((MANY - FEW) / 4);
  });
});
