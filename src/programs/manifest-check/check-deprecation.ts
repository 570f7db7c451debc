/** The deprecation of one endpoint.   AGTP-API §6.5 */
import { checkTemplate } from "../../catalog/path-grammar.ts";
import type { Place } from "./place.ts";
import { type ManifestVocabulary, readMethod } from "./vocabulary.ts";

/** Checks the block, where there is one. */
export function checkDeprecation(block: Place, vocabulary: ManifestVocabulary): void {
  if (block.isAbsent || block.record() === undefined) return;
  block.warnOfOthers(["deprecated_in", "removed_in", "successor"]);
  block.at("deprecated_in").text();
  block.at("removed_in").optionalText();
  const successor = block.at("successor");
  if (successor.isAbsent || successor.record() === undefined) return;
  successor.warnOfOthers(["method", "path"]);
  const [method, path] = [successor.at("method"), successor.at("path")];
  if (method.isAbsent && path.isAbsent) successor.fault("is empty, expected method or path");
  if (!method.isAbsent) readMethod(method, vocabulary);
  const template = path.optionalText();
  const fault = template === undefined ? undefined : checkTemplate(template, vocabulary.names);
  if (fault !== undefined) path.under("5.1").fault(fault.message);
}
