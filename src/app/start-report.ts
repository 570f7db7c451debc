/**
 * The report of a start or a reload to the operator: problems, trust postures, unsigned records.
 */

import type { Log } from "../base/log.ts";
import type { Paced } from "../base/paced.ts";
import { formatProblem, isError, type Problem } from "../base/problem.ts";
import type { Deployment } from "./deployment.ts";

/** One line a problem, a problem a step. */
export function* reportingProblems({ logger }: Log, problems: readonly Problem[]): Paced<void> {
  for (const problem of problems) {
    const { file, key, message, hint } = problem;
    const line = { event: "problem", file, key, problem: message, hint };
    if (isError(problem)) logger.error(line, formatProblem(problem));
    else logger.warn(line, formatProblem(problem));
    yield;
  }
}

/** By which rule each agent has its trust posture, and whether records prove anything. */
export function* reportingTrust(
  { logger }: Log,
  { config, directory, signer, lifecycle }: Deployment,
): Paced<void> {
  for (const agent of directory.list()) {
    const { agentId, name, trustTier, verificationPath, trustWarning, postureRules } = agent;
    const line = {
      event: "agent",
      agent_id: agentId,
      name,
      status: lifecycle.statusOf(agent),
      trust_tier: trustTier,
      verification_path: verificationPath,
      trust_warning: trustWarning,
      rules: postureRules,
    };
    logger.info(line, `agent ${name} has trust tier ${trustTier}, ${verificationPath}`);
    yield;
  }
  if (signer.publicKey !== undefined || !config.attribution.enabled) return;
  const message = "no [signing] key: Attribution-Records are unsigned and prove nothing";
  logger.warn({ event: "unsigned-records" }, message);
}
