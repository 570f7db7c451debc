/**
 * The object identifiers of an Agent Certificate's extensions, each with its name in the profile.
 * AGTP-CERT "Agent Certificate Profile"
 */

/**
 * Every object identifier that an extension is read under. The profile renamed two extensions and
 * says that their object identifiers stayed, but derives these from the name. The first is that of
 * the first name, which existing issuers write and so do we; the second that of the new one.
 */
export const AgentExtensionOid = {
  "agent-id": [
    "2.25.268315605531543067570885820853135175300",
    "2.25.270589222713521482848242912882674957013",
  ],
  "owner-id": [
    "2.25.1702125237121760683219637876567909613",
    "2.25.23114076405071288504909871284023186248",
  ],
  "authority-scope-commitment": ["2.25.282163161526436136340860154693646256049"],
  "governance-zone": ["2.25.166172302800383381461126246055580541663"],
  "trust-tier": ["2.25.198335757712203466569903271149789286606"],
  archetype: ["2.25.73414372111527645744102975685149753054"],
  "activation-certificate-id": ["2.25.251807688045435852997712124138766290036"],
  "agtp-ctl-sct": ["2.25.265641071119838462866957460025010755013"],
} as const;

/** The name of an Agent Certificate's extension. */
export type AgentExtensionName = keyof typeof AgentExtensionOid;

/** Tells whether an object identifier is that of an Agent Certificate's extension. */
export function isAgentExtension(oid: string): boolean {
  return Object.values(AgentExtensionOid).some((oids) => oids.some((one) => one === oid));
}
