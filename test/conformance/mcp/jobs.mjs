// Work that takes a while, as the suite wants of tools that become tasks.
import { randomUUID } from "node:crypto";

const jobs = new Map();

/** Answers where to ask how far the job is; nothing is done meanwhile. */
function begin(job) {
  const id = randomUUID();
  jobs.set(id, { ...job, begunAt: Date.now() });
  return {
    status: 202,
    body: { status: "working", poll: { method: "QUERY", path: `/jobs/${id}` } },
  };
}

export const greet = ({ input }) => ({ body: `Hello, ${input.name ?? "World"}!` });

export const compute = ({ input: { seconds = 0, label = "" } }) => {
  const result = `computed ${label}`;
  return seconds === 0 ? { body: result } : begin({ seconds, result });
};

export const failing = () => begin({ seconds: 1, isFailing: true });
export const broken = () => begin({ seconds: 1, isBroken: true });

export const look = ({ input }) => {
  const job = jobs.get(input.job);
  if (job === undefined) return { error: "failed", message: "no such job" };
  if (job.isCancelled) return { body: { status: "cancelled" } };
  if (Date.now() - job.begunAt < job.seconds * 1_000) return { body: { status: "working" } };
  if (job.isBroken) throw new Error("broken");
  return {
    body: job.isFailing ? { status: "failed" } : { status: "completed", result: job.result },
  };
};

export const cancel = ({ input }) => {
  const job = jobs.get(input.job);
  if (job === undefined) return { error: "failed", message: "no such job" };
  job.isCancelled = true;
  return { body: { status: "cancelled" } };
};
