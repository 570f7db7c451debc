/** `[catalog]`: the methods of AGTP. */
import { path, type Schema, table } from "../schema/section-field.ts";

/** `[catalog]` */
export interface CatalogConfig {
  readonly file: string;
}

/** Its schema. */
export const catalogSection: Schema = table("The method catalog", {
  file: path("catalog/methods.json", "The catalog of approved methods"),
});
