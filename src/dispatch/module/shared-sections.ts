/** The configuration sections that several modules take. */
import type { ConfigPlace } from "../../base/deployment-files.ts";
import type { AgentsConfig, ServerConfig } from "../../identity/identity-sections.ts";
import type { StoreConfig } from "../../state/state-sections.ts";
import type { LimitsConfig } from "../../wire/limits-section.ts";
import type { PoliciesConfig } from "../policy/policies-section.ts";

interface SharedSections extends ConfigPlace {
  readonly agents: AgentsConfig;
  readonly limits: LimitsConfig;
  readonly policies: PoliciesConfig;
  readonly server: ServerConfig;
  readonly store: StoreConfig;
}

/** Some of the shared sections, with the configuration's directory. */
export type Taking<Name extends keyof SharedSections> = Pick<
  SharedSections,
  Name | keyof ConfigPlace
>;
