/**
 * The first steps of evaluating a proposal, in the draft's order: 459 the method · 460 the path ·
 * 400 the semantic block · 400 the schemas. The others are in `synthesize-proposal.ts`.   AGTP-API
 * §10.6
 */

import { isRecord } from "../../../base/json-value.ts";
import type { Catalog } from "../../../catalog/catalog.ts";
import type { Pair } from "../../../catalog/pair.ts";
import {
  checkTemplate,
  type MethodNames,
  templateParameters,
} from "../../../catalog/path-grammar.ts";
import type { MethodPolicy } from "../../../dispatch/policy/method-policy.ts";
import {
  badRequest,
  endpointViolation,
  methodViolation,
  type Refusal,
} from "../../../dispatch/refusals/refusal.ts";
import type { EndpointDefinition } from "../../../endpoint/endpoint.ts";
import { readProposedSemantic } from "../../../endpoint/semantic-block.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { type ProposedSchemaFault, readProposedSchema } from "./proposed-schema.ts";
import type { ProposalFault, RawProposal } from "./read-proposal.ts";
import type { CheckedProposal } from "./submitted-proposal.ts";

/** The rules and endpoints that proposals are evaluated against. */
export interface ProposalRules {
  readonly catalog: Catalog;
  readonly names: MethodNames;
  readonly methodPolicy: MethodPolicy;
  /** The endpoint that is registered already under a pair. */
  registered(method: string, path: string): EndpointDefinition | undefined;
  /** Tells why a pair may never be an endpoint: it is the protocol's own. */
  reservation(method: string, path: string): string | undefined;
  /**
   * The pair that aliases and redirects make of another: one that they change is never answered
   * itself.
   */
  canonical(pair: Pair): Pair;
}

type Checked = { readonly kind: "checked"; readonly proposal: CheckedProposal } | Refusal;

/** Checks the form of what is proposed, which is cheap. */
export function checkProposal(raw: RawProposal, rules: ProposalRules): Checked {
  const { names, methodPolicy } = rules;
  const { method, path } = raw;
  if (!methodPolicy.isKnown(method)) {
    return refuseUnknownMethod(method, rules);
  }
  if (path === "" && raw.fault !== undefined) return refuseForm(raw.fault);
  const pathFault = checkTemplate(path, names);
  if (pathFault !== undefined) return endpointViolation(pathFault.segment, pathFault.message);
  if (raw.fault !== undefined) return refuseForm(raw.fault);
  const read = readProposedSemantic(raw.semantic);
  if ("faults" in read) return invalidSemantic(read.faults);
  const input = readProposedSchema(raw.inputSchema, "input_schema");
  if ("fault" in input) return malformedSchema("input_schema", input.fault);
  const undeclared = findUndeclared(path, input.schema.schema);
  if (undeclared !== undefined) return malformedSchema("input_schema", undeclared);
  const output = readProposedSchema(raw.outputSchema, "output_schema");
  if ("fault" in output) return malformedSchema("output_schema", output.fault);
  const { semantic } = read;
  return {
    kind: "checked",
    proposal: {
      raw,
      description: raw.description ?? semantic.intent,
      semantic,
      inputSchema: input.schema.schema,
      outputSchema: output.schema.schema,
    },
  };
}

/** 400: a fault of the form. */
export function refuseForm({ reason, message, field }: ProposalFault): Refusal {
  const code = reason === "ambiguous-body" ? reason : "invalid-proposal";
  return badRequest(code, message, { reason, issue: reason, field });
}

/** Finds a parameter of the path that is not an input, as it has to be with any endpoint.   §5.3 */
function findUndeclared(path: string, { properties }: JsonSchema): ProposedSchemaFault | undefined {
  const declared = isRecord(properties) ? properties : {};
  const name = templateParameters(path).find((one) => !Object.hasOwn(declared, one));
  if (name === undefined) return undefined;
  return { path: "/properties", message: `has no "${name}", which the path takes a value for` };
}

/** 459: a method that the catalog does not have. */
export function refuseUnknownMethod(
  method: string,
  { catalog, methodPolicy }: ProposalRules,
): Refusal {
  return methodViolation(method, catalog.version, methodPolicy.closeMatches(method));
}

function invalidSemantic(faults: readonly string[]): Refusal {
  const issue = "invalid-semantic";
  return badRequest("invalid-proposal", faults.join("; "), { reason: issue, issue, faults });
}

function malformedSchema(field: string, { path, message }: ProposedSchemaFault): Refusal {
  const issue = "malformed-schema";
  const text = `${field}${path} ${message}`;
  return badRequest("malformed-schema", text, { reason: issue, issue, field, pointer: path });
}
