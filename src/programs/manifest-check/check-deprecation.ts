/** The deprecation of one endpoint.   AGTP-API §6.5 */

import type { DocumentPlace } from "../../base/document-place.ts";
import { checkTemplate } from "../../catalog/path-grammar.ts";
import { warnOfOthers } from "./manifest-place.ts";
import { type ManifestVocabulary, readMethod } from "./vocabulary.ts";

/** Checks the block, where there is one. */
export function checkDeprecation(block: DocumentPlace, vocabulary: ManifestVocabulary): void {
  if (block.isAbsent || block.record() === undefined) return;
  warnOfOthers(block, ["deprecated_in", "removed_in", "successor"]);
  block.at("deprecated_in").text();
  block.at("removed_in").optional?.text();
  const successor = block.at("successor");
  if (successor.isAbsent || successor.record() === undefined) return;
  warnOfOthers(successor, ["method", "path"]);
  const [method, path] = [successor.at("method"), successor.at("path")];
  if (method.isAbsent && path.isAbsent) successor.fail("is empty, expected method or path");
  if (!method.isAbsent) readMethod(method, vocabulary);
  const template = path.optional?.text();
  const fault = template === undefined ? undefined : checkTemplate(template, vocabulary.names);
  if (fault !== undefined) path.under("5.1").fail(fault.message);
}
