/** Every question of the doctor, in the order in which they are asked. docs/doctor.md explains each. */
import { agentDocuments } from "./checks/agent-documents.ts";
import { allowHttp } from "./checks/allow-http.ts";
import { anonymousDiscovery } from "./checks/anonymous-discovery.ts";
import { catalogVersion } from "./checks/catalog-version.ts";
import { certificateExpiry } from "./checks/certificate-expiry.ts";
import { certificateKey } from "./checks/certificate-key.ts";
import { certificateNames } from "./checks/certificate-names.ts";
import { clock } from "./checks/clock.ts";
import { conformanceMode } from "./checks/conformance-mode.ts";
import { diskSpace } from "./checks/disk-space.ts";
import { filePermissions } from "./checks/file-permissions.ts";
import { identityAssurance } from "./checks/identity-assurance.ts";
import { inspectAccess } from "./checks/inspect-access.ts";
import { issuerTrust } from "./checks/issuer-trust.ts";
import { journal } from "./checks/journal.ts";
import { keyPermissions } from "./checks/key-permissions.ts";
import { lifecycleAuth } from "./checks/lifecycle-auth.ts";
import { nodeVersion } from "./checks/node-version.ts";
import { openEndpoints } from "./checks/open-endpoints.ts";
import { openwopNames } from "./checks/openwop-names.ts";
import { ownership } from "./checks/ownership.ts";
import { plainHttp } from "./checks/plain-http.ts";
import { reviewMarks } from "./checks/review-marks.ts";
import { scopeRequirement } from "./checks/scope-requirement.ts";
import { secretsInFiles } from "./checks/secrets-in-files.ts";
import { signingKey } from "./checks/signing-key.ts";
import { stateFile } from "./checks/state-file.ts";
import { store } from "./checks/store.ts";
import { unknownAgents } from "./checks/unknown-agents.ts";
import { unservedFiles } from "./checks/unserved-files.ts";
import { webhookSecret } from "./checks/webhook-secret.ts";
import { wildcards } from "./checks/wildcards.ts";
import type { Check } from "./finding.ts";

/** From who can get in to what is kept. */
export const CHECKS: readonly Check[] = [
  // Keys and certificates.
  certificateExpiry,
  certificateNames,
  certificateKey,
  keyPermissions,
  secretsInFiles,
  // Who is believed, and what they may do.
  unknownAgents,
  identityAssurance,
  lifecycleAuth,
  anonymousDiscovery,
  inspectAccess,
  scopeRequirement,
  wildcards,
  issuerTrust,
  agentDocuments,
  // What is served.
  unservedFiles,
  openwopNames,
  reviewMarks,
  openEndpoints,
  catalogVersion,
  conformanceMode,
  // What leaves and enters beside AGTP.
  plainHttp,
  allowHttp,
  webhookSecret,
  // What is kept.
  signingKey,
  store,
  stateFile,
  journal,
  diskSpace,
  filePermissions,
  ownership,
  // The machine.
  clock,
  nodeVersion,
];
