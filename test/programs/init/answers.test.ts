import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseToml } from "../../../src/base/toml-document.ts";
import { isOwnerId } from "../../../src/identity/identifiers.ts";
import {
  assumeOperator,
  assumeServerId,
  findAgentFault,
  findServerIdFault,
  findTextFault,
  ownerIdOf,
  readPort,
} from "../../../src/programs/init/answers.ts";
import { serverFile } from "../../../src/programs/init/server-file.ts";

const anyText = fc.string({ unit: "binary", maxLength: 300 });

describe("what is assumed", () => {
  it.each([
    ["/srv/shop", "shop.localhost"],
    ["/srv/My Shop (2)", "my-shop-2.localhost"],
    ["/srv/Käse & Brot", "kase-brot.localhost"],
    ["/", "agents.localhost"],
    ["/srv/Größe", "grosse.localhost"],
    ["/srv/STRAẞE", "strasse.localhost"],
    ["/srv/Ærø", "aero.localhost"],
    ["/srv/Łódź – Đà Nẵng", "lodz-da-nang.localhost"],
    ["/srv/店", "agents.localhost"],
    ["/srv/店 2", "2.localhost"],
    ["/srv/Магазин", "agents.localhost"],
  ])("is, for a directory %s, the server id %s", (directory, serverId) => {
    expect(assumeServerId(directory)).toBe(serverId);
  });

  it("is short enough for a label of a host name, and for a line, whatever it is made of", () => {
    expect(assumeServerId(`/srv/${"a".repeat(64)}`)).toBe(`${"a".repeat(63)}.localhost`);
    expect(findTextFault(assumeOperator("a".repeat(253)))).toBeUndefined();
  });

  it("is always an answer that would be taken", () => {
    fc.assert(
      fc.property(anyText, (name) => {
        const serverId = assumeServerId(`/srv/${name}`);
        expect(findServerIdFault(serverId)).toBeUndefined();
        expect(findTextFault(assumeOperator(serverId))).toBeUndefined();
        expect(isOwnerId(ownerIdOf({ operator: name }))).toBe(true);
      }),
    );
  });
});

describe("an answer", () => {
  it.each(["", "a b", "-a", "a-", "ä.example", "a/b", "a\n", "a".repeat(254)])(
    "is no server id: %j",
    (text) => {
      expect(findServerIdFault(text)).toBeDefined();
    },
  );

  it.each(["", "  ", "a\nb", "a\u001b[2Jb", "\u202eabc", "\ud800", "a".repeat(201)])(
    "is no operator: %j",
    (text) => {
      expect(findTextFault(text)).toBeDefined();
    },
  );

  it.each(["", "..", "a/b", "a b", "a.b", "a".repeat(65)])("is no agent: %j", (text) => {
    expect(findAgentFault(text)).toBeDefined();
  });

  it.each(["", "0", "65536", "-1", "1e3", " 80", "eighty"])("is no port: %j", (text) => {
    expect(readPort(text)).toBeUndefined();
  });

  it.each(["1", "4480", "65535"])("is the port %s", (text) => {
    expect(readPort(text)).toBe(Number(text));
  });

  it("stands in the configuration as it was given", () => {
    fc.assert(
      fc.property(anyText, (operator) => {
        fc.pre(findTextFault(operator) === undefined);
        const answers = {
          serverId: "a.example",
          contact: operator,
          agent: undefined,
          handlers: "javascript" as const,
          port: 1,
        };
        const { table } = parseToml(serverFile({ ...answers, operator }));
        expect(table?.["server"]).toMatchObject({ operator, contact: operator });
      }),
    );
  });
});
