/**
 * The parts of a deployment, loaded in the order in which each needs the others: who is known, what
 * the operator's files bring, what the protocol makes of it. They are put together elsewhere.
 */

import type { Config } from "../base/config.ts";
import type { Environment } from "../base/environment.ts";
import type { Drive } from "../base/paced.ts";
import { isError, type Problem } from "../base/problem.ts";
import type { CallLog } from "../handlers/handler.ts";
import { ApiListing } from "../modules/gateway/api-listing.ts";
import type { NegotiationState } from "../modules/negotiation/state.ts";
import { Attributor } from "../state/attributor.ts";
import { openSealer } from "../state/open-sealer.ts";
import { createRecordSigner, type RecordSigner } from "../state/signer.ts";
import type { ServerState } from "../state/state.ts";
import type { FloorState } from "./floor-state.ts";
import {
  type LoadedIdentities,
  loadIdentities,
  loadSigningKey,
  openTokens,
} from "./identity-parts.ts";
import type { OpenedVerifier } from "./jwks-verifier.ts";
import { creatingNegotiation, type Negotiation } from "./negotiation.ts";
import { Opened } from "./opened.ts";
import { loadOperatorParts, type OperatorParts } from "./operator-parts.ts";
import { loadProtocolRoutes, type ProtocolRoutes } from "./protocol-routes.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** What the parts take from the process. */
export interface PartSources {
  readonly env: Environment;
  readonly state: ServerState;
  readonly negotiation: NegotiationState;
  readonly floor: FloorState;
  readonly log: Pick<CallLog, "info" | "warn">;
  /** Whether others have their turn while a deployment is loaded. */
  readonly drive: Drive;
}

/** What is found on the way, and what is open by then. */
export interface Progress {
  readonly problems: Problem[];
  readonly opened: Opened;
}

/** Everything that is served, before it is put together. */
export interface DeploymentParts extends Vocabulary, Omit<OperatorParts, "problems"> {
  readonly config: Config;
  readonly known: LoadedIdentities;
  readonly tokens: OpenedVerifier | undefined;
  readonly signer: RecordSigner;
  readonly attributor: Attributor;
  readonly apis: ApiListing;
  readonly negotiation: Negotiation;
  readonly protocol: ProtocolRoutes;
  /** What the last requests can do without. */
  readonly ending: Opened;
}

/** Undefined when a problem stops the start. */
export async function loadParts(
  config: Config,
  vocabulary: Vocabulary,
  { state, floor, log, env, drive, negotiation: kept }: PartSources,
  { problems, opened }: Progress,
): Promise<DeploymentParts | undefined> {
  const known = await loadIdentities(config, floor.store, problems, drive);
  if (known === undefined) return undefined;
  const tokens = await openTokens(config, log);
  if (tokens?.verifier !== undefined) opened.add(tokens.verifier);
  problems.push(...(tokens?.problems ?? []));
  if (tokens?.problems.some(isError)) return undefined;
  const signingKey = loadSigningKey(config);
  const signer = createRecordSigner(signingKey);
  const ending = opened.add(new Opened());
  const sealer = ending.add(openSealer(signer, signingKey));
  const { serverId } = config.server;
  const attributor = new Attributor({ serverId, sealer, ledger: state.ledger });
  const { problems: found, ...operator } = await loadOperatorParts({
    ...{ config, vocabulary, env, state, floor, log, signingKey, opened, drive },
    operators: known.operators,
  });
  problems.push(...found);
  const apis = new ApiListing(config);
  const joined = { config, ...vocabulary, ...operator, state, attributor, signingKey, apis };
  const { work } = floor;
  const negotiation = await drive(creatingNegotiation({ ...joined, negotiation: kept, work, log }));
  const protocol = ending.add(
    await loadProtocolRoutes({ ...joined, negotiation, floor, log, drive }),
  );
  problems.push(...protocol.problems, ...protocol.skipped);
  const isStopped = config.server.onInvalid === "fail" && problems.some(isError);
  if (isStopped || !operator.openwop.isSound || protocol.problems.some(isError)) return undefined;
  await Promise.all([operator.keep(), known.keep()]);
  return { ...joined, known, tokens, signer, negotiation, protocol, ending };
}
