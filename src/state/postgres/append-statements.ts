/**
 * The statements that append a batch of records by compare-and-set: heads that are as expected move, and the records
 * of those chains are inserted. Each is a transaction by itself.   AGTP-IDENTIFIERS "Attribution Chain"
 */
import { NO_AUDIT_ID } from "../records/record.ts";
import type { ChainedRecord, RecordBatch } from "../records/record-store.ts";

/** A chain whose records were stored. */
export interface KeptChain {
  readonly agent_id: string;
}

/**
 * Returns the statement that yields the chains whose heads were as expected; new chains are inserted after all locks
 * are taken.
 */
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

/** Returns the values of `appendStatement`. */
export function batchValues({ records, expected }: RecordBatch): unknown[] {
  const last = new Map(records.map((record) => [record.chain.agentId, record]));
  const agents = [...expected.keys()].sort();
  const ends = agents.flatMap((agentId) => last.get(agentId) ?? []);
  return [
    textArray(agents),
    textArray(agents.map((agentId) => expected.get(agentId) ?? NO_AUDIT_ID)),
    textArray(ends.map(({ auditId }) => auditId)),
    ends.map(({ chain }) => chain.at),
    textArray(ends.map(({ chain }) => chain.method)),
    textArray(records.map(({ auditId }) => auditId)),
    textArray(records.map(({ chain }) => chain.agentId)),
    textArray(records.map(({ jws }) => jws)),
    records.map(({ chain }) => chain.isEvent === true),
  ];
}

/**
 * As `appendStatement`, for one record of an existing chain. It takes one lock and no array, so that the server
 * needs two fifths of the time; it counts a row if the head was as expected.
 */
export function appendOneStatement(name: string): string {
  return `WITH moved AS (
    UPDATE ${name}.heads SET audit_id = $3, at = $4, method = $5
    WHERE agent_id = $1 AND audit_id = $2 RETURNING agent_id
  ) INSERT INTO ${name}.records (audit_id, agent_id, jws, is_event)
    SELECT $3, agent_id, $6, $7 FROM moved`;
}

/** Returns the values of `appendOneStatement`. */
export function oneRecordValues(
  { auditId, jws, chain }: ChainedRecord,
  expected: string,
): unknown[] {
  const { agentId, at, method, isEvent = false } = chain;
  return [agentId, expected, auditId, at, method, jws, isEvent];
}

const TEXT_OID = 25;
/** The head of a `text[]`: dimensions, flag, element type, element count, first index. */
const ARRAY_HEAD_BYTES = 20;

/**
 * Encodes a `text[]` in PostgreSQL's binary format. The server reads one of a hundred records in half the time of
 * the text format, which it parses octet by octet.
 */
function textArray(texts: readonly string[]): Buffer {
  let length = ARRAY_HEAD_BYTES;
  for (const text of texts) length += 4 + Buffer.byteLength(text);
  const octets = Buffer.allocUnsafe(length);
  for (const [index, value] of [1, 0, TEXT_OID, texts.length, 1].entries()) {
    octets.writeInt32BE(value, index * 4);
  }
  let at = ARRAY_HEAD_BYTES;
  for (const text of texts) {
    const written = octets.write(text, at + 4);
    octets.writeInt32BE(written, at);
    at += 4 + written;
  }
  return octets;
}
