/** The attacks on one daemon. */
import type { Attack } from "./attack.ts";
import * as connections from "./connection-attacks.ts";
import { noDescriptors } from "./descriptor-attack.ts";
import * as operations from "./operation-attacks.ts";
import * as requests from "./request-attacks.ts";

/** The attacks in execution order. */
export const ATTACKS: readonly Attack[] = [
  ...[requests.dearRequests, requests.garbage, requests.abortedRequests],
  ...[connections.slowReaders, connections.idleConnections, connections.halfOpenHandshakes],
  ...[connections.keyUpdates, noDescriptors, connections.freshConnections],
  ...[operations.kill9, operations.reloads, operations.clockSteps],
];
