/**
 * The manifests of a deployment: configured ones, those in its AGNTCY directory, and those that they reference by
 * relative path. Nothing is fetched from the network, and no reference leaves its root directory, even through a
 * symbolic link.
 */

import { existsSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { readBoundedFile } from "../../../base/bounded-file.ts";
import { readDeploymentFiles } from "../../../base/deployment-files.ts";
import { quoteValue } from "../../../base/json-value.ts";
import { isWithin, relativePath } from "../../../base/paths.ts";
import type { AgentManifest, Dependency } from "../manifest/manifest.ts";
import { MAX_MANIFEST_BYTES, type ReadManifest, readManifest } from "../manifest/read-manifest.ts";

export interface LocatedManifest {
  readonly manifest: AgentManifest;
  /** An absolute path. */
  readonly path: string;
}

/** The manifest of a reference, or the fault. */
type Located = (LocatedManifest & { readonly fault?: undefined }) | { readonly fault: string };

interface LibraryOptions {
  /** The deployment directory, an absolute path. */
  readonly directory: string;
  /** An absolute path, possibly missing, of manifests that are not served. */
  readonly shelf?: string;
}

const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:/;

/** Reads each file once. */
export class ManifestLibrary {
  readonly #directory: string;
  readonly #shelf: string | undefined;
  readonly #byPath = new Map<string, ReadManifest>();
  #isShelfRead = false;

  constructor({ directory, shelf }: LibraryOptions) {
    this.#directory = directory;
    this.#shelf = shelf;
  }

  read(path: string): ReadManifest {
    const known = this.#byPath.get(path);
    if (known !== undefined) return known;
    const file = this.nameOf(path);
    const { text, fault } = readBoundedFile(path, MAX_MANIFEST_BYTES);
    const result =
      fault === undefined
        ? readManifest(text, file)
        : { problems: [{ file, key: "", message: fault }] };
    this.#byPath.set(path, result);
    return result;
  }

  /** Names a file as in problems. */
  nameOf(path: string): string {
    return relativePath(this.#directory, path);
  }

  /** Finds the manifest of a dependency by its file, or else by its name. */
  locate({ ref }: Dependency, from: LocatedManifest): Located {
    const path = ref.url === undefined ? undefined : this.#pathOf(ref.url, from.path);
    if (typeof path === "object") return path;
    if (path !== undefined && existsSync(path)) {
      const { manifest } = this.read(path);
      if (manifest !== undefined) return { manifest, path };
      return { fault: `the manifest ${quoteValue(this.nameOf(path))} has problems of its own` };
    }
    return this.#findByName(ref.name, ref.version) ?? { fault: this.#absence(ref, path) };
  }

  #absence(ref: Dependency["ref"], path: string | undefined): string {
    const sought = `no manifest of ${quoteValue(ref.name)} ${quoteValue(ref.version)} is known here`;
    if (path !== undefined) return `${quoteValue(ref.url)} does not exist, and ${sought}`;
    return ref.url === undefined ? sought : `${quoteValue(ref.url)} is not fetched, and ${sought}`;
  }

  #findByName(name: string, version: string): LocatedManifest | undefined {
    this.#readShelf();
    for (const [path, { manifest }] of this.#byPath) {
      if (manifest?.name === name && manifest.version === version) return { manifest, path };
    }
    return undefined;
  }

  /** Faults of unreferenced manifests are ignored. */
  #readShelf(): void {
    if (this.#shelf === undefined || this.#isShelfRead) return;
    this.#isShelfRead = true;
    const { files } = readDeploymentFiles({
      directory: this.#directory,
      dir: this.#shelf,
      defaultDir: this.nameOf(this.#shelf),
      suffix: ".json",
      recursive: false,
    });
    for (const { file, text } of files) {
      const path = join(this.#directory, file);
      if (!this.#byPath.has(path)) this.#byPath.set(path, readManifest(text, file));
    }
  }

  /** Undefined if the URL is not a file. */
  #pathOf(url: string, from: string): string | { readonly fault: string } | undefined {
    const isFile = url.startsWith("file:");
    if (!isFile && SCHEME.test(url)) return undefined;
    const written = isFile ? filePath(url) : url;
    if (written?.includes("\0") !== false) return { fault: `${quoteValue(url)} is no path` };
    const path = resolve(dirname(from), written);
    const root = isWithin(this.#directory, from) ? this.#directory : dirname(from);
    // Compares real paths, since links can give a directory several names.
    const isInside = existsSync(path)
      ? isWithin(realPath(root), realPath(path))
      : isWithin(root, path);
    if (isInside) return path;
    return { fault: `${quoteValue(url)} leads out of the deployment directory` };
  }
}

/** Reads `file://./name` as relative to the manifest, as the AGNTCY tools do; it is not a valid file URL. */
function filePath(url: string): string | undefined {
  const [, within] = /^file:(?:\/\/)?(?!\/)(?!localhost\/)(.*)$/i.exec(url) ?? [];
  if (within !== undefined) return within;
  try {
    return fileURLToPath(url);
  } catch {
    return undefined;
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
