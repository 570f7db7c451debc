import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadKeyFile } from "../../src/identity/bearer-key-file.ts";
import { makeDirectory } from "../support/directory.ts";
import { makeIssuerKey } from "../support/token-issuer.ts";

const PLACE = { file: "agtp-server.toml", key: "policies.oauth.jwks_file" };

function load(text: string) {
  const path = join(makeDirectory({ "jwks.json": text }), "jwks.json");
  return { path, ...loadKeyFile(path, PLACE) };
}

describe("loadKeyFile", () => {
  it("gives the keys of the file, always the same", async () => {
    const { jwk } = await makeIssuerKey("ES256", "ec");
    const { keys, problems } = load(JSON.stringify({ keys: [jwk] }));
    expect(problems).toEqual([]);
    const set = await keys?.keysFor("unknown");
    expect(set?.has("ec")).toBe(true);
    expect(await keys?.keysFor(undefined)).toBe(set);
    expect(keys?.generation).toBe(0);
  });

  it("warns of symmetric keys, and serves the others", async () => {
    const { jwk } = await makeIssuerKey();
    const { keys, problems } = load(JSON.stringify({ keys: [{ kty: "oct", k: "c2VjcmV0" }, jwk] }));
    expect(keys).toBeDefined();
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
    const { keys, problems } = load(text);
    expect(keys).toBeUndefined();
    expect(problems.at(-1)).toMatchObject({
      ...PLACE,
      message: expect.stringContaining(message),
    });
    expect(problems.at(-1)?.severity).toBeUndefined();
  });

  it("is a problem with a file that is not there, is a directory, or is too long", () => {
    const directory = makeDirectory({ "long.json": " ".repeat(1_048_577) });
    for (const path of [join(directory, "missing.json"), directory, join(directory, "long.json")]) {
      const { keys, problems } = loadKeyFile(path, PLACE);
      expect(keys).toBeUndefined();
      expect(problems).toMatchObject([PLACE]);
    }
  });
});
