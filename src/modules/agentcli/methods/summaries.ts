/** Every method of the protocol with a sentence about it, in the order of the protocol. */

/** Names and summaries. */
export const METHOD_SUMMARIES: readonly (readonly [method: string, summary: string])[] = [
  ["agentcli.ping", "Whether the server answers."],
  ["agentcli.version", "The versions of the program and of the manifest."],
  ["agentcli.schema", "A schema by target."],
  ["agentcli.describe", "Descriptive metadata by target."],
  ["agentcli.validate", "The verdict on a manifest."],
  ["agentcli.compile", "A manifest compiled to a target."],
  ["agentcli.apply", "Creates, updates or adopts the jobs of a scheduler."],
  ["agentcli.inspect", "Rows of a scheduler's database."],
  ["agentcli.convert", "A manifest of version 0.1 as one of version 0.2."],
  ["agentcli.identity.providers", "The identity providers and what they can do."],
  ["agentcli.identity.schema", "What one identity provider can do."],
  ["agentcli.identity.resolve", "The identity that a task acts under."],
  ["agentcli.identity.validateDelegation", "The verdict on a task's chain of delegation."],
  ["agentcli.authorizationProof.methods", "The verifiers of authorization proofs."],
  ["agentcli.authorizationProof.schema", "What one verifier is."],
  ["agentcli.authorization.providers", "The authorization providers and what they can do."],
  ["agentcli.authorization.schema", "What one authorization provider can do."],
  ["agentcli.authorization.evaluate", "Whether a task may run."],
  ["agentcli.evidence.providers", "The evidence providers and what they can give."],
  ["agentcli.evidence.schema", "What one evidence provider can give."],
];
