/** `agtp-openapi` in process, in a directory of its own. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "smol-toml";
import { openapiProgram } from "../../src/programs/openapi/command.ts";
import { type Files, makeDirectory } from "./directory.ts";
import { type ProgramRun, runIn } from "./terminal.ts";

/** The content of `[endpoint]`, as a test reads it. */
// biome-ignore lint/suspicious/noExplicitAny: what a test reads of a file is checked by what it expects
export type EndpointTable = Readonly<Record<string, any>>;

export interface OpenApiProgram {
  readonly directory: string;
  run(...args: readonly string[]): Promise<ProgramRun>;
  read(file: string): string;
  has(file: string): boolean;
  /** Endpoint tables of a deployment by `METHOD /path`. */
  endpoints(deployment: string): Readonly<Record<string, EndpointTable>>;
}

/** The program for the running test. */
export function makeOpenApiProgram(
  files: Files = {},
  environment: Readonly<Record<string, string>> = {},
): OpenApiProgram {
  const directory = makeDirectory(files);
  const read = (file: string): string => readFileSync(join(directory, file), "utf8");
  return {
    directory,
    read,
    has: (file) => existsSync(join(directory, file)),
    run: (...args) => runIn(directory, openapiProgram, args, { environment }),
    endpoints(deployment) {
      const folder = join(directory, deployment, "endpoints");
      const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted();
      const tables = names
        .filter((name) => name.endsWith(".toml"))
        .map(
          (name) => parse(readFileSync(join(folder, name), "utf8"))["endpoint"] as EndpointTable,
        );
      return Object.fromEntries(
        tables.map((table) => [`${table["method"]} ${table["path"]}`, table]),
      );
    },
  };
}
