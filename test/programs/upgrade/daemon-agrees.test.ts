/** What the daemon says with the new catalog and did not say with the old one is what is found. */
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../../src/app/config/load.ts";
import { loadingContents, loadVocabulary } from "../../../src/app/contents.ts";
import { atOnce } from "../../../src/base/paced.ts";
import type { Problem } from "../../../src/base/problem.ts";
import { parseCatalog } from "../../../src/catalog/catalog-file.ts";
import { compilingApprovalPolicy } from "../../../src/dispatch/approvals/approval-problems.ts";
import type { Conflict, ConflictEffect } from "../../../src/programs/upgrade/conflict.ts";
import { scanDeployment } from "../../../src/programs/upgrade/scan.ts";
import { type CatalogJson, makeVerb } from "../../support/catalog-versions.ts";
import { makeDirectory } from "../../support/directory.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
const CATALOG = readFileSync(join(ROOT, "catalog/methods.json"), "utf8");
const POLICY = `
[policies.methods]
allow = ["BOOK", "RESERVE", "SEARCH", "CREATE", "CANCEL"]
disallow = ["SELL"]
aliases = { HIRE = "BOOK", GET = "QUERY" }
[[policies.methods.redirects]]
from_method = "ORDER"
to_method = "CREATE"
to_path = "/orders"
[policies.oauth]
issuer = "https://id.example"
jwks_uri = "https://id.example/jwks.json"
required_on_methods = ["CANCEL"]
[[policies.approvals]]
method = "RESERVE"
path = "/stays/{stay_id}"
`;
/** What the daemon hears of nothing of: requests that come later, and meanings. */
const SILENT: readonly ConflictEffect[] = ["refused-requests", "changes-meaning"];

const removed = ["BOOK", "RESERVE", "CREATE", "CANCEL", "ORDER", "SELL", "SEARCH"];
const added = ["ROOMS", "ORDERS", "STAYS", "RESERVATIONS"];

const remove =
  (name: string) =>
  ({ verbs, legacy }: CatalogJson): void => {
    delete verbs[name];
    for (const verb of Object.values(legacy)) {
      if (verb.preferred === name) verb.preferred = "EXECUTE";
    }
  };
const add =
  (name: string) =>
  ({ verbs }: CatalogJson): void => {
    verbs[name] = makeVerb();
  };

const changes: readonly (readonly [string, (catalog: CatalogJson) => void])[] = [
  ...removed.map((name) => [`without ${name}`, remove(name)] as const),
  ...added.map((name) => [`with ${name}`, add(name)] as const),
];

function makeSite(): string {
  const directory = makeDirectory();
  for (const name of ["endpoints", "recipes", "agents", "catalog"]) {
    cpSync(join(ROOT, name), join(directory, name), { recursive: true });
  }
  const head = '[server]\nserver_id = "test"\n[catalog]\nfile = "catalog.json"\n';
  writeFileSync(join(directory, "agtp-server.toml"), head + POLICY);
  return directory;
}

/** What the daemon would say, and whether it would start. */
function load(directory: string, catalog: string): readonly Problem[] {
  writeFileSync(join(directory, "catalog.json"), catalog);
  const { config, problems } = loadConfig(join(directory, "agtp-server.toml"), {});
  if (config === undefined) throw new Error(JSON.stringify(problems));
  const found = [...problems];
  const vocabulary = loadVocabulary(config, found);
  if (vocabulary === undefined) return found;
  atOnce(loadingContents(config, vocabulary, {}, found));
  const { policies, tls } = config;
  const approvals = compilingApprovalPolicy(policies.approvals, {
    ...{ ...vocabulary, file: "agtp-server.toml", directory: { resolve: () => undefined } },
    ...{ routes: [], isWhole: true, identity: policies.identity, tls, hasConsole: false },
  });
  return [...found, ...atOnce(approvals).problems];
}

/** Rules of approvals are judged last. */
const isOfApprovals = ({ reference }: Conflict): boolean => reference.role.startsWith("approval");

const placeOf = ({ file, key }: Pick<Problem, "file" | "key">): string => {
  return `${file} ${key.replace(/\.(?:from|to)_(?:method|path)$/, "")}`;
};

function catalogOf(text: string) {
  const { catalog } = parseCatalog(text, "catalog.json");
  if (catalog === undefined) throw new Error("no catalog");
  return catalog;
}

// AGTP-API §4.5
describe("what an upgrade breaks", () => {
  it.each(changes)("is what the daemon refuses %s", (_, change) => {
    const directory = makeSite();
    const json = JSON.parse(CATALOG) as CatalogJson;
    change(json);
    const changed = JSON.stringify(json);
    const known = new Set(load(directory, CATALOG).map(placeOf));
    const news = load(directory, changed)
      .map(placeOf)
      .filter((place) => !known.has(place));
    const { conflicts, problems } = scanDeployment({
      ...{ directory, config: "agtp-server.toml", environment: {} },
      older: catalogOf(CATALOG),
      newer: catalogOf(changed),
    });
    expect(problems).toEqual([]);
    const heard = conflicts.filter(({ effect }) => !SILENT.includes(effect));
    // Where the server does not start, nobody hears what else there is.
    const isFatal = heard.some((one) => one.effect === "stops-start" && !isOfApprovals(one));
    const isEarly = (one: Conflict): boolean =>
      (one.group === "policy" || one.reference.source.kind === "config") && !isOfApprovals(one);
    const places = heard
      .filter((one) => !isFatal || isEarly(one))
      .map(({ reference }) => placeOf({ file: reference.source.file, key: reference.key }));
    expect(new Set(places)).toEqual(new Set(news));
    expect(places.length).toBeGreaterThan(0);
  });
});
