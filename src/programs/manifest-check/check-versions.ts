/** The five version fields at the top of a manifest.   AGTP-API §4.3, §4.8, §8.2, §13.1 */
import semver from "semver";
import type { DocumentPlace } from "../../base/document-place.ts";
import { quoteValue } from "../../base/json-value.ts";

/** Of the two protocols, the versions that this program knows. */
const KNOWN_VERSION = "1.0";
const PROTOCOL_VERSION = /^\d+\.\d+(?:\.\d+)?$/;

/** Checks them; answers with the catalog version. */
export function checkVersions(manifest: DocumentPlace): string | undefined {
  for (const name of ["agtp_version", "agtp_api_version"]) {
    const place = manifest.at(name);
    const version = place.text();
    if (version === undefined) continue;
    if (!PROTOCOL_VERSION.test(version)) {
      place.fail(`${quoteValue(version)} is no protocol version, expected one such as "1.0"`);
    } else if (version !== KNOWN_VERSION) {
      place.warn(`is ${quoteValue(version)}, and is judged as ${KNOWN_VERSION}`);
    }
  }
  manifest.at("document_version").text();
  return checkCatalogVersions(manifest);
}

function checkCatalogVersions(manifest: DocumentPlace): string | undefined {
  const version = readVersion(manifest.at("catalog_version"));
  const list = manifest.at("catalog_versions_supported");
  const supported = list.textItems();
  for (const place of supported) readVersion(place);
  if (!Array.isArray(list.value)) return version;
  if (version !== undefined && !list.value.includes(version)) {
    list.under("4.3").fail(`lacks the catalog_version, ${version}`);
  } else if (supported.length > 1) {
    list.under("4.8").fail(`has ${supported.length} versions, expected the catalog_version alone`);
  }
  return version;
}

function readVersion(place: DocumentPlace): string | undefined {
  const version = place.text();
  if (version === undefined || semver.valid(version) === version) return version;
  // Build metadata is part of a version that `valid` leaves out.
  if (semver.parse(version)?.raw === version && /^\d/.test(version)) return version;
  place.under("4.1").fail(`${quoteValue(version)} is no semantic version`);
  return undefined;
}
