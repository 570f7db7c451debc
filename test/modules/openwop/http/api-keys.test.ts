/** Runs are listened to by a key for as long as it is good for that.   OpenWOP "auth" */
import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { ApiKeys, Audience } from "../../../../src/modules/openwop/http/api-keys.ts";

function entryOf(key: string, scopes: readonly string[] = ["runs:read"], tenant = "acme") {
  const sha256 = createHash("sha256").update(key).digest("hex");
  return { sha256, tenant, scopes, agtpScopes: [] };
}

it("whoever listens hears no more once the key is not good for it, and others go on", () => {
  const names = ["stays", "gone", "narrowed", "moved"];
  const keys = new ApiKeys(names.map((name) => entryOf(name)));
  const audience = new Audience({ all: 4, perTenant: 4 });
  const listeners = names.map((name) => {
    const key = keys.find(`Bearer ${name}`);
    const listening = key && audience.enter(key);
    if (listening === undefined) throw new Error("there is no place");
    return listening;
  });
  const next = [
    entryOf("stays", ["runs:read", "runs:create"]),
    entryOf("narrowed", ["runs:create"]),
    entryOf("moved", ["runs:read"], "other"),
  ];
  audience.serve(new ApiKeys(next));
  expect(listeners.map(({ ended }) => ended.aborted)).toEqual([false, true, true, true]);
  for (const { leave } of listeners) leave();
  const gone = keys.find("Bearer gone");
  expect(gone && audience.enter(gone)?.ended.aborted).toBe(true);
});
