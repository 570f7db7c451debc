/** A chain that a server has the end of, and an archive the beginning.   AGTP-IDENTIFIERS "Audit Log" */

import {
  type JournalQuestion,
  type JournalReport,
  verifyJournalChain,
} from "../../state/journal/journal-chain.ts";
import { CommandRefusal } from "../shell/command.ts";
import type { InspectedReport } from "./inspect-chain.ts";

/** Goes on in an archive where the server's part ends; both have to hold, and to meet. */
export async function followInArchive(
  served: InspectedReport,
  question: Omit<JournalQuestion, "archive" | "trustedHead">,
): Promise<JournalReport & InspectedReport> {
  const { archived, ...end } = served;
  if (archived === undefined || end.broken !== undefined) return served;
  const { directory } = question;
  const begin = await verifyJournalChain({
    ...question,
    archive: directory,
    trustedHead: archived,
  });
  if (begin === undefined) return served;
  if (begin.broken === undefined && begin.head !== archived) {
    throw new CommandRefusal("the archive went on while the server was asked: verify once more");
  }
  return {
    ...end,
    records: begin.records + end.records,
    first: begin.first ?? end.first,
    last: end.last ?? begin.last,
    verified: begin.verified + end.verified,
    unsigned: begin.unsigned + end.unsigned,
    unchecked: begin.unchecked + end.unchecked,
    broken: begin.broken,
    cut: begin.cut,
  };
}
