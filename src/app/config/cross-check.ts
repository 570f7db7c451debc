/**
 * The form of a rule that the schema cannot state, because it looks at several keys or outside the
 * file. Each names the sections it reads, and is left out while one of them has the wrong form.
 */
import type { Config } from "./config.ts";

/** Notes a problem at a dotted key. */
export type Report = (
  key: string,
  message: string,
  more?: { readonly hint?: string; readonly severity?: "error" | "warning" },
) => void;

/** A rule over a configuration whose `sections` are well-formed. */
export interface CrossCheck {
  readonly sections: readonly string[];
  readonly check: (config: Config, report: Report) => void;
}
