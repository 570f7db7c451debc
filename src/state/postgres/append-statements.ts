/**
 * The statements that append a batch of records by compare-and-set: heads are moved where they are as
 * expected, and the records of those chains are inserted. Each is one transaction by itself.
 * AGTP-IDENTIFIERS "Attribution Chain"
 */
import { NO_AUDIT_ID } from "../records/record.ts";
import type { RecordBatch } from "../records/record-store.ts";

/** A chain whose records are kept, as both statements answer it. */
export interface KeptChain {
  readonly agent_id: string;
}

/** Answers the chains that were as expected; those that are new are inserted behind all locks. */
export function appendStatement(name: string): string {
  return `WITH batch AS MATERIALIZED (
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[])
      AS b (agent_id, expected, audit_id, at, method)
  ), locked AS MATERIALIZED (
    SELECT h.agent_id FROM ${name}.heads h JOIN batch b USING (agent_id)
    WHERE h.audit_id = b.expected ORDER BY h.agent_id FOR UPDATE OF h
  ), begun AS (
    INSERT INTO ${name}.heads (agent_id, audit_id, at, method)
    SELECT agent_id, audit_id, at, method FROM batch
    WHERE expected = '${NO_AUDIT_ID}' AND (SELECT count(*) FROM locked) >= 0
    ORDER BY agent_id
    ON CONFLICT (agent_id) DO NOTHING RETURNING agent_id
  ), moved AS (
    UPDATE ${name}.heads h SET audit_id = b.audit_id, at = b.at, method = b.method
    FROM batch b JOIN locked l USING (agent_id) WHERE h.agent_id = b.agent_id
    RETURNING h.agent_id
  ), won AS MATERIALIZED (
    SELECT agent_id FROM begun UNION ALL SELECT agent_id FROM moved
  ), kept AS (
    INSERT INTO ${name}.records (audit_id, agent_id, jws, is_event)
    SELECT r.audit_id, r.agent_id, r.jws, r.is_event
    FROM unnest($6::text[], $7::text[], $8::text[], $9::boolean[]) WITH ORDINALITY
      AS r (audit_id, agent_id, jws, is_event, number)
    WHERE r.agent_id IN (SELECT agent_id FROM won) ORDER BY r.number
  ) SELECT agent_id FROM won`;
}

/** The values of `appendStatement`. */
export function batchValues({ records, expected }: RecordBatch): unknown[] {
  const last = new Map(records.map((record) => [record.chain.agentId, record]));
  const agents = [...expected.keys()].sort();
  return [
    agents,
    agents.map((agentId) => expected.get(agentId)),
    agents.map((agentId) => last.get(agentId)?.auditId),
    agents.map((agentId) => last.get(agentId)?.chain.at),
    agents.map((agentId) => last.get(agentId)?.chain.method),
    records.map(({ auditId }) => auditId),
    records.map(({ chain }) => chain.agentId),
    records.map(({ jws }) => jws),
    records.map(({ chain }) => chain.isEvent === true),
  ];
}

/**
 * As `appendStatement`, of one chain that goes on: it takes no second lock, so nothing has to be put in
 * order, and the server needs two thirds of the time.
 */
export function appendToOneStatement(name: string): string {
  return `WITH moved AS (
    UPDATE ${name}.heads SET audit_id = $3, at = $4, method = $5
    WHERE agent_id = $1 AND audit_id = $2 RETURNING agent_id
  ), kept AS (
    INSERT INTO ${name}.records (audit_id, agent_id, jws, is_event)
    SELECT r.audit_id, m.agent_id, r.jws, r.is_event
    FROM moved m, unnest($6::text[], $7::text[], $8::boolean[]) WITH ORDINALITY
      AS r (audit_id, jws, is_event, number)
    ORDER BY r.number
  ) SELECT agent_id FROM moved`;
}

/** The values of `appendToOneStatement`. */
export function oneChainValues({ records, expected }: RecordBatch): unknown[] {
  const [[agentId, head] = []] = expected;
  const last = records.at(-1);
  return [
    ...[agentId, head, last?.auditId, last?.chain.at, last?.chain.method],
    records.map(({ auditId }) => auditId),
    records.map(({ jws }) => jws),
    records.map(({ chain }) => chain.isEvent === true),
  ];
}
