/**
 * The signature of an identity document. All three of its members, and it is verified before the
 * document is served; none, and the document is the operator's own word; some, and something was
 * taken away from a signed document.   AGTP "Identity Document Signature"
 */
import type { DocumentPlace } from "../base/document-place.ts";
import type { JsonRecord } from "../base/json-value.ts";
import type { SignatureStanding } from "./agent-document.ts";
import { canonicalForm } from "./canonical-form.ts";
import { readKey } from "./document-members.ts";
import { type Ed25519PublicKey, verifyDetached } from "./ed25519.ts";
import { isTrustedIssuer } from "./trusted-issuers.ts";

const MEMBERS = ["manifest_issuer", "manifest_issuer_public_key", "manifest_signature"] as const;

/** The octets that `manifest_signature` is over; issuer and key are among them. */
export function documentOctets(document: JsonRecord): Buffer {
  return canonicalForm(document, ["manifest_signature"]);
}

/** The worth of a document's signature. A reported fault keeps the document from being served. */
export function checkDocumentSignature(
  document: DocumentPlace,
  trustedIssuers: readonly Ed25519PublicKey[],
): SignatureStanding {
  const missing = MEMBERS.filter((key) => !document.has(key));
  if (missing.length === MEMBERS.length) return "none";
  const others = MEMBERS.filter((one) => !missing.includes(one)).join(", ");
  for (const key of missing) document.at(key).fail(`is required beside ${others}`);
  document.at("manifest_issuer").optional?.text();
  const key = document.at("manifest_issuer_public_key");
  const signed = document.at("manifest_signature");
  const issuerKey = readKey(key);
  const signature = signed.optional?.text();
  if (issuerKey === undefined || signature === undefined) return "untrusted";
  if (!verifyDetached(issuerKey, documentOctets(document.members), signature)) {
    const message =
      "does not verify: the document was altered, or signed with another key than its";
    signed.fail(`${message} manifest_issuer_public_key`, REISSUE);
    return "untrusted";
  }
  if (isTrustedIssuer(issuerKey, trustedIssuers)) return "trusted";
  key.warn(UNTRUSTED);
  return "untrusted";
}

const REISSUE =
  "what an agent holds is changed by its issuer alone: agtp-keys genesis --force makes both files anew";
const UNTRUSTED =
  "is not among policies.identity.trusted_issuers, the document's scopes and trust are ignored";
