/** Reads the configuration that `agtpd init --from` translates, and the recipes that it names. */
import { dirname, join } from "node:path";
import { parseToml } from "../../base/toml-document.ts";
import { readText, usage } from "../shell/command-file.ts";
import type { Terminal } from "../shell/terminal.ts";
import { type Loss, type Translation, translateReference } from "./translate-reference.ts";

/** A translation with the text of its recipes. */
export interface FoundReference extends Translation {
  /** Undefined where no file of recipes could be read. */
  readonly recipeText: string | undefined;
}

/** Throws ERR_AGTP_REQUEST where the file cannot be read, or is another program's. */
export function readReference(
  file: string,
  { directory }: Pick<Terminal, "directory">,
): FoundReference {
  const translated = translateReference(readText(directory, file));
  if ("fault" in translated) throw usage(`${JSON.stringify(file)} ${translated.fault}`);
  const { recipes } = translated;
  if (recipes === undefined) return { ...translated, recipeText: undefined };
  try {
    const recipeText = readText(directory, join(dirname(file), recipes));
    if (parseToml(recipeText).fault === undefined) return { ...translated, recipeText };
  } catch {
    // Told below, as a file of recipes that is none is.
  }
  const reason = `${JSON.stringify(recipes)} cannot be read: put its recipes into recipes/`;
  const loss: Loss = { key: "synthesis.recipes_file", reason };
  return { ...translated, losses: [...translated.losses, loss], recipeText: undefined };
}
