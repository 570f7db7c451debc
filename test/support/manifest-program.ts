/** `agtp-manifest` in process, in a directory of its own. */
import { manifestProgram } from "../../src/programs/manifest-check/command.ts";
import { type Files, makeDirectory } from "./directory.ts";
import { type ProgramRun, runIn } from "./terminal.ts";

/** A finding of the JSON report. */
export interface FindingJson {
  readonly pointer: string;
  readonly clause: string;
  readonly message: string;
}

/** What the JSON report has. */
interface ManifestJson {
  readonly ok: boolean;
  readonly signature: { readonly state: string; readonly kid: string | null } | null;
  readonly catalog: string | null;
  readonly faults: readonly FindingJson[];
  readonly warnings: readonly FindingJson[];
}

interface ManifestProgram {
  readonly directory: string;
  run(...args: readonly string[]): Promise<ProgramRun>;
  report(...args: readonly string[]): Promise<ProgramRun & { readonly json: ManifestJson }>;
}

/** The program for the running test. */
export function makeManifestProgram(files: Files = {}): ManifestProgram {
  const directory = makeDirectory(files);
  const run: ManifestProgram["run"] = (...args) => runIn(directory, manifestProgram, args);
  return {
    directory,
    run,
    report: async (...args) => {
      const ran = await run(...args, "--json");
      return { ...ran, json: JSON.parse(ran.out) };
    },
  };
}
