/** Every question of the doctor, in the order in which they are asked. docs/doctor.md explains each. */
import type { Check } from "./check.ts";
import { AGENTS_CHECKS } from "./checks/agents.ts";
import { CERTIFICATES_CHECKS } from "./checks/certificates.ts";
import { FILES_CHECKS } from "./checks/files.ts";
import { IDENTITY_CHECKS } from "./checks/identity.ts";
import { KEYS_CHECKS } from "./checks/keys.ts";
import { MACHINE_CHECKS } from "./checks/machine.ts";
import { SERVED_CHECKS } from "./checks/served.ts";
import { STATE_CHECKS } from "./checks/state.ts";
import { TRANSPORT_CHECKS } from "./checks/transport.ts";

/** From who can get in to what is kept. */
export const CHECKS: readonly Check[] = [
  ...CERTIFICATES_CHECKS,
  ...KEYS_CHECKS,
  ...IDENTITY_CHECKS,
  ...AGENTS_CHECKS,
  ...SERVED_CHECKS,
  ...TRANSPORT_CHECKS,
  ...STATE_CHECKS,
  ...FILES_CHECKS,
  ...MACHINE_CHECKS,
];
