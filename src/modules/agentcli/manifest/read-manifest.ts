/** From whatever a caller handed over to a manifest that can be worked with, or why it cannot. */
import { type Failure, invalidManifest } from "../failure.ts";
import type { Finding } from "./finding.ts";
import type { Manifest } from "./manifest.ts";
import { validateManifest } from "./validate.ts";

/** A valid manifest, and what is odd about it. */
interface ReadManifest {
  readonly kind: "manifest";
  readonly manifest: Manifest;
  readonly warnings: readonly Finding[];
}

/** Validates first: nothing else in this folder looks at a manifest that was not. */
export function readManifest(value: unknown): ReadManifest | Failure {
  const validation = validateManifest(value);
  if (!validation.ok) return invalidManifest(validation);
  return {
    kind: "manifest",
    // Every field that the type names was checked just now.
    manifest: value as unknown as Manifest,
    warnings: validation.warnings,
  };
}
