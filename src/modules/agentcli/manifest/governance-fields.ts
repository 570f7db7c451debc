/** The fields of contracts, proofs, authorization and evidence, and of their profiles. */
import {
  among,
  BOOLEAN,
  block,
  type Field,
  type Fields,
  integer,
  list,
  MAP,
  REQUIRED_IDENTIFIER,
  REQUIRED_STRING,
  STRING,
} from "./field.ts";
import { TRUST_LEVEL } from "./identity-fields.ts";

const VERIFY_REQUIRED = block({ required: BOOLEAN });

/** The fields of a contract, in the order in which they are merged, too. */
export const CONTRACT_FIELDS: Fields = {
  sandbox: among("none", "permissive", "strict"),
  allowed_paths: list(REQUIRED_STRING),
  network: among("unrestricted", "restricted", "none"),
  max_cost_usd: { kind: "number", min: 0 },
  audit: among("none", "on-failure", "always"),
  required_trust_level: TRUST_LEVEL,
  trust_enforcement: among("none", "advisory", "strict"),
};
/** The rules that a task's execution is bound by. */
export const CONTRACT: Field = block(CONTRACT_FIELDS);

/** A check that runs when the task is done. */
export const VERIFY: Field = block(
  {
    shell: { kind: "command-line" },
    timeout_seconds: integer(1),
    on_failure: among("error", "warn"),
  },
  ["shell"],
);

/** The policy for credentials in tasks that a task triggers. */
export const CHILD_CREDENTIAL_POLICY: Field = among("none", "inherit", "downscope", "independent");

/** A task's reference to a proof profile. */
export const PROOF_REFERENCE: Field = block(
  { ref: REQUIRED_STRING, claims: MAP, verify: VERIFY_REQUIRED },
  ["ref"],
);

const REQUEST = block({ include: list(REQUIRED_STRING) });
const DECISION = block({
  allow_values: list(REQUIRED_STRING),
  deny_values: list(REQUIRED_STRING),
  escalate_values: list(REQUIRED_STRING),
});

/** A task's reference to an authorization profile. */
export const AUTHORIZATION_REFERENCE: Field = block(
  {
    ref: REQUIRED_STRING,
    on_error: among("deny", "warn"),
    provider_config: MAP,
    request: REQUEST,
    decision: DECISION,
  },
  ["ref"],
);

/** The fields of what evidence is about. */
export const PAYLOAD_FIELDS: Fields = {
  bind: list(),
  context: MAP,
  format: among("canonical-json", "json"),
};
const PAYLOAD = block(PAYLOAD_FIELDS);

/** A task's reference to an evidence profile. */
export const EVIDENCE_REFERENCE: Field = block({
  ref: STRING,
  payload: PAYLOAD,
  verify: VERIFY_REQUIRED,
});

/** An entry of authorization_proof_profiles. */
export const PROOF_PROFILE: Fields = {
  id: REQUIRED_IDENTIFIER,
  method: among("jwt", "detached-signature", "certificate", "none"),
  issuer: STRING,
  audience: STRING,
  jwks_uri: STRING,
  public_key: STRING,
  allowed_signers: STRING,
  principal: STRING,
  namespace: STRING,
  ca_certificate: STRING,
  ca_certificate_from: { kind: "source", literal: true },
  proof: block({ value_from: { kind: "source", literal: false } }),
  claims: MAP,
  verify: VERIFY_REQUIRED,
};

/** An entry of authorization_profiles. */
export const AUTHORIZATION_PROFILE: Fields = {
  id: REQUIRED_IDENTIFIER,
  provider: REQUIRED_STRING,
  provider_config: MAP,
  on_error: among("deny", "warn"),
  request: REQUEST,
  decision: DECISION,
};

/** An entry of evidence_profiles. */
export const EVIDENCE_PROFILE: Fields = {
  id: REQUIRED_IDENTIFIER,
  provider: REQUIRED_STRING,
  methods: list(),
  provider_config: MAP,
  payload: PAYLOAD,
  verify: VERIFY_REQUIRED,
};
