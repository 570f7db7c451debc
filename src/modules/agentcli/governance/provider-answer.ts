/** Answers of authorization providers. */

/** An answer, in the provider's own words. */
export type ProviderAnswer =
  | { readonly kind: "answer"; readonly value: string; readonly reason: string | null }
  | { readonly kind: "fault"; readonly message: string };
