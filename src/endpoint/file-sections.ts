/** `[endpoints]` and `[recipes]`: where their files lie. */
import { path, type Schema, table } from "../schema/section-field.ts";

/** `[endpoints]` or `[recipes]` */
export interface FilesConfig {
  readonly dir: string;
}

/** The schema of `[endpoints]`. */
export const endpointsSection: Schema = table("Endpoint files", {
  dir: path("endpoints", "Directory of endpoint files, searched recursively"),
});

/** The schema of `[recipes]`. */
export const recipesSection: Schema = table("Composition recipes", {
  dir: path("recipes", "Directory of recipe files"),
});
