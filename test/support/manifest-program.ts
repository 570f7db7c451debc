/** `agtp-manifest` in process, in a directory of its own. */
import { runManifestCommand } from "../../src/programs/manifest-check/command.ts";
import { type Files, makeDirectory } from "./directory.ts";

/** A finding of the JSON report. */
export interface FindingJson {
  readonly pointer: string;
  readonly clause: string;
  readonly message: string;
}

/** What the JSON report has. */
export interface ManifestJson {
  readonly ok: boolean;
  readonly signature: { readonly state: string; readonly kid: string | null } | null;
  readonly catalog: string | null;
  readonly faults: readonly FindingJson[];
  readonly warnings: readonly FindingJson[];
}

export interface ManifestRun {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

export interface ManifestProgram {
  readonly directory: string;
  run(...args: readonly string[]): Promise<ManifestRun>;
  report(...args: readonly string[]): Promise<ManifestRun & { readonly json: ManifestJson }>;
}

/** The program for the running test. */
export function makeManifestProgram(files: Files = {}): ManifestProgram {
  const directory = makeDirectory(files);
  const run: ManifestProgram["run"] = async (...args) => {
    const written = { out: "", err: "" };
    const output = (name: "out" | "err") => ({
      write: (text: string) => {
        written[name] += text;
      },
      isTerminal: false,
      hasColour: false,
    });
    const terminal = { out: output("out"), err: output("err"), directory };
    const exitCode = await runManifestCommand(args, { ...terminal, readInput: async () => "" });
    return { exitCode, ...written };
  };
  return {
    directory,
    run,
    report: async (...args) => {
      const ran = await run(...args, "--json");
      return { ...ran, json: JSON.parse(ran.out) };
    },
  };
}
