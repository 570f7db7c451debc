/** The project's own sources as a tree of syntax, for tests of how they are put together. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix, resolve } from "node:path";
import ts from "typescript";

/** The project's root directory. */
export const ROOT: string = resolve(import.meta.dirname, "../..");

interface SourceImport {
  /** As written. */
  readonly specifier: string;
  /** The imported file relative to the root; undefined for a package. */
  readonly file: string | undefined;
  /** Names in the import's own list. */
  readonly names: readonly string[];
}

export interface SourceModule {
  /** Relative to the root, with forward slashes. */
  readonly file: string;
  /** The folder below src, "tools", or "" for a file of src itself. */
  readonly folder: string;
  readonly text: string;
  readonly syntax: ts.SourceFile;
  readonly imports: readonly SourceImport[];
}

const read = new Map<string, readonly SourceModule[]>();

/** Every TypeScript module below a directory of the project, read once. */
export function readModules(directory: "src" | "tools"): readonly SourceModule[] {
  const known = read.get(directory);
  if (known !== undefined) return known;
  const modules = readdirSync(join(ROOT, directory), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readModule(join(directory, name).replaceAll("\\", "/")));
  read.set(directory, modules);
  return modules;
}

function readModule(file: string): SourceModule {
  const text = readFileSync(join(ROOT, file), "utf8");
  const parse = (part: string): ts.SourceFile =>
    ts.createSourceFile(file, part, ts.ScriptTarget.ES2023, true);
  // Most of whoever reads modules wants their imports alone, which are a tenth of them.
  const imports = parse(text.slice(0, endOfImports(text))).statements.flatMap(importOf);
  let syntax: ts.SourceFile | undefined;
  const [top = "", second = "", ...rest] = file.split("/");
  const folder = top === "tools" ? top : rest.length === 0 ? "" : second;
  return {
    ...{ file, folder, text, imports },
    get syntax() {
      syntax ??= parse(text);
      return syntax;
    },
  };
}

/** Where the last line ends that names a module. */
function endOfImports(text: string): number {
  const [last] = [...text.matchAll(/^(?:import|.*\bfrom) "[^"\n]+";$/gm)].slice(-1);
  return last === undefined ? 0 : last.index + last[0].length;
}

function importOf(statement: ts.Statement): readonly SourceImport[] {
  if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return [];
  const { moduleSpecifier } = statement;
  if (moduleSpecifier === undefined || !ts.isStringLiteral(moduleSpecifier)) return [];
  const specifier = moduleSpecifier.text;
  const from = dirname(statement.getSourceFile().fileName);
  const file = specifier.startsWith(".") ? posix.join(from, specifier) : undefined;
  const bindings = ts.isImportDeclaration(statement)
    ? statement.importClause?.namedBindings
    : undefined;
  const elements = bindings !== undefined && ts.isNamedImports(bindings) ? bindings.elements : [];
  const names = elements.map(({ name, propertyName }) => (propertyName ?? name).getText());
  return [{ specifier, file, names }];
}

/** The package that a specifier names. */
export function packageOf(specifier: string): string {
  const parts = specifier.split("/");
  return parts.slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}
