/** `agtpd schema`: the schemas of a deployment's files, for editors. */
import { dirname, resolve } from "node:path";
import { type Command, command } from "../shell/command.ts";
import { usage } from "../shell/command-file.ts";
import { writeFiles } from "../shell/write-files.ts";
import {
  SCHEMA_NAMES,
  type SchemaName,
  schemaFiles,
  schemaLine,
  schemaText,
} from "./schema-files.ts";

const NOTES = `
An editor with a TOML language server checks and completes a file whose first line is
  ${schemaLine("server", "agtp-server.toml").trimEnd()}       in agtp-server.toml
  ${schemaLine("endpoint", "endpoints/book-room.toml").trimEnd()}    in endpoints/book-room.toml
  ${schemaLine("recipe", "recipes/audit.toml").trimEnd()}      in recipes/audit.toml

Examples:
  agtpd schema endpoint > endpoint.schema.json
  agtpd schema --write --config shop/agtp-server.toml

Exit codes: 0 printed or written, 2 it could not be.`;

/** Prints one, or writes all of them beside a deployment. */
export function schemaCommand(): Command {
  return command({
    name: "agtpd schema",
    description: "Prints the JSON Schema of a deployment's file, with descriptions and defaults.",
    args: { "[name]": `which file's: ${SCHEMA_NAMES.join(" | ")}` },
    options: {
      "--write": "write all of them to .agtp/schema beside the configuration",
      "--config <file>": { help: "configuration file", default: "agtp-server.toml" },
    },
    notes: NOTES,
    run: ({ name, write, config }, { directory, out, err }) => {
      if (name !== undefined && !isName(name)) {
        throw usage(`there is no schema ${JSON.stringify(name)}: ${SCHEMA_NAMES.join(", ")}`);
      }
      if (write) {
        const files = schemaFiles();
        writeFiles(resolve(directory, dirname(config)), files, true);
        for (const { path } of files) err.write(`wrote ${path}\n`);
      } else if (name === undefined) {
        throw usage(`which one: ${SCHEMA_NAMES.join(", ")}? Or --write`);
      } else {
        out.write(schemaText(name));
      }
      return true;
    },
  });
}

function isName(text: string): text is SchemaName {
  return SCHEMA_NAMES.some((name) => name === text);
}
