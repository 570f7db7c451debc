import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../../src/app/config/load.ts";
import { configFile } from "../../support/deployment.ts";
import { makeDirectory } from "../../support/directory.ts";

const OIDC = { issuer: "https://login.example", client_id: "agtpd", operators: ["managers"] };

function load(oidc: object) {
  const directory = makeDirectory({
    "agtp-server.toml": configFile({ console: { enabled: true, oidc } }),
  });
  const { config, problems } = loadConfig(join(directory, "agtp-server.toml"), { SECRET: "hush" });
  return { config, problems: problems.filter(({ key }) => key.startsWith("console")) };
}

describe("[console.oidc]", () => {
  it("is a provider, and the people who may come in", () => {
    const { config, problems } = load({ ...OIDC, client_secret: ["$", "{SECRET}"].join("") });
    expect(problems).toEqual([]);
    expect(config?.console.oidc).toEqual({
      ...{ issuer: "https://login.example", clientId: "agtpd", clientSecret: "hush" },
      ...{ scope: "openid profile email", roleClaim: "groups" },
      ...{ viewers: [], operators: ["managers"] },
    });
  });

  it.each([
    ["issuer", { issuer: "http://login.example" }],
    ["issuer", { issuer: "https://login.example/?tenant=1" }],
    ["issuer", { issuer: "https://:x" }],
    ["client_id", { client_id: "" }],
    ["client_secret", { client_secret: "" }],
    ["scope", { scope: "profile email" }],
    ["role_claim", { role_claim: "" }],
    ["operators", { operators: [] }],
    ["operators[0]", { operators: [1] }],
    ["viewers", { viewers: "night-desk" }],
    ["ca", { ca: "missing.pem" }],
    ["realm", { realm: "x" }],
  ])("is refused for its %s", (key, changes) => {
    const { problems } = load({ ...OIDC, ...changes });
    expect(problems.map((one) => [one.file, one.key])).toEqual([
      ["agtp-server.toml", `console.oidc.${key}`],
    ]);
  });

  it("tells of all that is wrong at once, and of a value in both lists", () => {
    const { problems } = load({ ...OIDC, scope: "email", viewers: ["managers"], ca: "no.pem" });
    expect(problems.map(({ key, severity = "error" }) => [key, severity])).toEqual(
      expect.arrayContaining([
        ["console.oidc.scope", "error"],
        ["console.oidc.ca", "error"],
        ["console.oidc.viewers[0]", "warning"],
      ]),
    );
    expect(
      load({ issuer: 1 })
        .problems.map(({ key }) => key)
        .sort(),
    ).toEqual(["console.oidc.client_id", "console.oidc.issuer"]);
  });
});
