/** Reads a server manifest: each fault is a finding under its JSON Pointer and clause. */
import { suggest } from "../../base/close-matches.ts";
import { DocumentPlace } from "../../base/document-place.ts";
import { JSON_STYLE } from "../../base/document-style.ts";
import type { ReportFinding } from "./findings.ts";

/** The whole manifest, judged by the clause on manifests. */
export function manifestPlace(value: unknown, report: ReportFinding): DocumentPlace {
  return new DocumentPlace(
    value,
    { file: "", key: "", name: "", clause: "8.2" },
    {
      style: JSON_STYLE,
      report({ severity = "error", key, clause: rule, message }) {
        report({ severity, key, rule, message });
        return true;
      },
    },
  );
}

/** Warns of members that the draft does not name: they mean nothing to other implementations. */
export function warnOfOthers(place: DocumentPlace, known: readonly string[]): void {
  for (const name of place.names) {
    if (known.includes(name)) continue;
    const hint = suggest(name, known);
    place.at(name).warn(`is no member of the draft${hint === undefined ? "" : `, ${hint}`}`);
  }
}
