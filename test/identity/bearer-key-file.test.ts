import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkKeyFile, readKeyFile } from "../../src/identity/bearer-keys.ts";
import { makeDirectory } from "../support/directory.ts";
import { makeIssuerKey } from "../support/token-issuer.ts";

const PLACE = { file: "agtp-server.toml", key: "policies.oauth.jwks_file" };

function write(text: string): string {
  return join(makeDirectory({ "jwks.json": text }), "jwks.json");
}

describe("readKeyFile", () => {
  it("gives the keys that the file holds now", async () => {
    const [first, second] = await Promise.all([
      makeIssuerKey("ES256", "first"),
      makeIssuerKey("ES256", "second"),
    ]);
    const path = write(JSON.stringify({ keys: [first.jwk] }));
    expect(readKeyFile(path)).toMatchObject({ set: { size: 1 }, ignored: [] });
    writeFileSync(path, JSON.stringify({ keys: [second.jwk] }));
    const { set } = readKeyFile(path);
    expect(set?.has("first")).toBe(false);
    expect(set?.has("second")).toBe(true);
  });
});

describe("checkKeyFile", () => {
  it("has nothing to say about a good file", async () => {
    const { jwk } = await makeIssuerKey("ES256", "ec");
    expect(checkKeyFile(write(JSON.stringify({ keys: [jwk] })), PLACE)).toEqual([]);
  });

  it("warns of symmetric keys, and lets the others serve", async () => {
    const { jwk } = await makeIssuerKey();
    const path = write(JSON.stringify({ keys: [{ kty: "oct", k: "c2VjcmV0" }, jwk] }));
    const problems = checkKeyFile(path, PLACE);
    expect(problems).toMatchObject([{ ...PLACE, severity: "warning" }]);
    expect(problems[0]?.message).toContain("keys[0] is symmetric, so it is ignored");
    expect(problems[0]?.message).not.toContain("c2VjcmV0");
  });

  it.each([
    ["", "must be JSON"],
    ["{", "must be JSON"],
    ["[]", "must be a JSON Web Key Set"],
    ['{"keys":7}', "must be a JSON Web Key Set"],
    ['{"keys":[],"keys":[]}', 'must not have the member "keys" twice'],
    ['{"keys":[]}', "must hold a public key of an accepted signature algorithm"],
    ['{"keys":[{"kty":"oct","k":"AA"}]}', "must hold a public key of an accepted"],
  ])("is a problem with %j", (text, message) => {
    const problems = checkKeyFile(write(text), PLACE);
    expect(problems.at(-1)).toMatchObject({
      ...PLACE,
      message: expect.stringContaining(message),
    });
    expect(problems.at(-1)?.severity).toBeUndefined();
  });

  it("is a problem with a file that is not there, is a directory, or is too long", () => {
    const directory = makeDirectory({ "long.json": " ".repeat(1_048_577) });
    for (const path of [join(directory, "missing.json"), directory, join(directory, "long.json")]) {
      expect(checkKeyFile(path, PLACE)).toMatchObject([PLACE]);
    }
  });
});
