/** `[handlers]`: where the functions of endpoints lie. */
import { path, type Schema, table } from "../schema/section-field.ts";

/** `[handlers]` */
export interface HandlersConfig {
  readonly root: string;
}

/** Its schema. */
export const handlersSection: Schema = table("Handler modules", {
  root: path(".", "Dotted handler paths start here; nothing outside is reachable"),
});
