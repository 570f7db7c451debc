/** Checkpoints of an export are believed only where each follows the one before it. */
import {
  type CutHeadsFile,
  findCutFault,
  type JournalCut,
  readCut,
} from "../journal/cut-record.ts";
import { StateFileError } from "./read-state-file.ts";

/** Reads a checkpoint behind the one before it. @throws StateFileError */
export function followingCut(jws: string, before: JournalCut | undefined): JournalCut {
  const cut = readCut(jws);
  const fault = cut === undefined ? "is none" : findCutFault(cut, before);
  if (cut !== undefined && fault === undefined) return cut;
  throw new StateFileError(`has a checkpoint that ${fault}`);
}

/** Compares the ends of chains as they were written. @throws StateFileError */
export function checkCutHeads(written: CutHeadsFile, signed: CutHeadsFile): void {
  if (written.sha256 === signed.sha256) return;
  throw new StateFileError("has other ends of chains than were signed with the last cut");
}
