/**
 * `agtp-agntcy`: reads AGNTCY manifests, writes OASF records. The exit code is 0 on success, 1 when
 * the manifest is not valid or the agent does not exist, 2 when the command could not be carried
 * out.
 */

import { dirname, resolve } from "node:path";
import { readBoundedFile } from "../../base/bounded-file.ts";
import type { Environment } from "../../base/environment.ts";
import { describeProblem, isError, type Problem } from "../../base/problem.ts";
import { chooseOption, viewOptions } from "../../modules/agntcy/choose-option.ts";
import { resolveDependencies } from "../../modules/agntcy/dependencies/dependency-tree.ts";
import { ManifestLibrary } from "../../modules/agntcy/dependencies/manifest-library.ts";
import type { AgentManifest } from "../../modules/agntcy/manifest/manifest.ts";
import { MAX_MANIFEST_BYTES, readManifest } from "../../modules/agntcy/manifest/read-manifest.ts";
import { readAccess, readAddress } from "../../modules/agntcy/upstream.ts";
import { type Command, command, usage } from "../shell/command.ts";
import { printJson } from "../shell/print-json.ts";
import { defuseLine } from "../shell/terminal.ts";
import { exportCommand } from "./export-command.ts";

/** Reports every problem of a manifest, under JSON Pointers. */
const validateCommand: Command = command({
  name: "validate",
  description: "Checks a manifest, in any of the shapes that are in use.",
  args: { "<manifest>": "the manifest, JSON" },
  options: {
    "--dependencies": "check what it depends on as well: manifests beside it, variables",
    "--json": "print JSON",
  },
  run: ({ manifest: named, dependencies = false, json = false }, terminal) => {
    const { environment } = terminal;
    const path = resolve(terminal.directory, named);
    const { text, fault } = readBoundedFile(path, MAX_MANIFEST_BYTES);
    if (fault !== undefined) throw usage(`${JSON.stringify(named)} ${fault}`);
    const { manifest, problems: own } = readManifest(text, named);
    const problems = [
      ...own,
      ...(manifest === undefined ? [] : checkAddresses(manifest)),
      ...(manifest !== undefined && dependencies
        ? checkDependencies(manifest, path, environment)
        : []),
    ];
    const isValid = !problems.some(isError);
    const { out } = terminal;
    if (json) printJson(report(named, manifest, problems, isValid), out);
    else out.write(describe(named, manifest, problems, isValid));
    return isValid;
  },
});

/** Warns of addresses that a daemon would not call. */
function checkAddresses({ options, file }: AgentManifest): readonly Problem[] {
  return options.flatMap((option): Problem[] => {
    if (option.type !== "remote_service") return [];
    const { fault } = readAddress(option.url, true);
    const name = option.name === undefined ? "" : ` of the option ${JSON.stringify(option.name)}`;
    if (fault === undefined) return [];
    return [{ file, key: "", message: `the address${name} ${fault}`, severity: "warning" }];
  });
}

function checkDependencies(
  manifest: AgentManifest,
  path: string,
  environment: Environment,
): readonly Problem[] {
  const library = new ManifestLibrary({ directory: dirname(path) });
  return resolveDependencies({ manifest, path }, library, environment).problems;
}

function report(
  file: string,
  manifest: AgentManifest | undefined,
  problems: readonly Problem[],
  isValid: boolean,
): object {
  return {
    file,
    valid: isValid,
    ...(manifest === undefined ? {} : summary(manifest)),
    problems: problems.map(({ file: where, key: pointer, message, hint, severity = "error" }) => ({
      ...{ file: where, pointer, message, hint, severity },
    })),
  };
}

function summary(manifest: AgentManifest): object {
  const { name, version, shape, specs, dependencies } = manifest;
  const { endpoint } = readAccess(name, {}, undefined);
  const choice = chooseOption(manifest, undefined, endpoint);
  return {
    ...{ name, version, shape },
    capabilities: specs.capabilities,
    interrupts: specs.interrupts.map(({ type }) => type),
    callable: choice.kind === "callable",
    options: viewOptions(manifest, endpoint),
    dependencies: dependencies.map(({ name: known, ref }) => ({ name: known, ref })),
  };
}

function describe(
  file: string,
  manifest: AgentManifest | undefined,
  problems: readonly Problem[],
  isValid: boolean,
): string {
  const what =
    manifest === undefined
      ? file
      : `${file}: ${manifest.name} ${manifest.version} (${manifest.shape})`;
  const lines = problems.map(describeProblem);
  return [...lines, `${what} is ${isValid ? "valid" : "not valid"}`]
    .map((line) => `${defuseLine(line)}\n`)
    .join("");
}

const NOTES = `
Examples:
  agtp-agntcy validate agents/agntcy/mailcomposer.json
  agtp-agntcy validate manifest.json --dependencies --json
  agtp-agntcy export org.agntcy.mailcomposer -o mailcomposer.record.json

Exit codes: 0 done, 1 the manifest is not valid or there is no such agent, 2 it could not be asked.`;

export const agntcyProgram: Command = {
  name: "agtp-agntcy",
  description: "Checks AGNTCY agent manifests, and writes OASF records of hosted agents.",
  notes: NOTES,
  hasLongMessages: true,
  commands: [validateCommand, exportCommand],
};
