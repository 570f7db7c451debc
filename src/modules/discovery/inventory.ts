/** The inventory of the reserved DISCOVER built-ins, decided at start-up.   AGTP-API §5.8 */

import type { Drive } from "../../base/paced.ts";
import type { Disclosure } from "../../dispatch/caller/disclosure.ts";
import type { ApiEntry } from "../../dispatch/module/listing-sections.ts";
import type { ListedDefinition } from "../../dispatch/tools/tool.ts";
import type { Recipe } from "../../endpoint/recipe.ts";
import type { ContractRegister } from "../../state/registers/contract-register.ts";

/** Everything of this server that can be discovered. */
export interface Inventory extends Disclosure {
  /** Every listed endpoint with its tier, the built-ins included; known once all are built. */
  endpoints(): readonly ListedDefinition[];
  /** Tells whether such a pair is among them. */
  isListed(method: string, path: string): boolean;
  /** Name or Agent-ID of the agent that is addressed when a request names none. */
  readonly defaultAgent: string | undefined;
  /** Complete once the server is bound. */
  apis(): readonly ApiEntry[];
  readonly recipes: readonly Recipe[];
  readonly contracts: Pick<ContractRegister, "active">;
  /** True if a pair that is not registered may be negotiated. */
  readonly isNegotiating: boolean;
  /** Lists may be long: they are made in steps, with everybody else's turn in between. */
  readonly drive: Drive;
}
