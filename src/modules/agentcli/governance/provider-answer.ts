/** What providers of authorization answer. */

/** What a provider says, in its own words. */
export type ProviderAnswer =
  | { readonly kind: "answer"; readonly value: string; readonly reason: string | null }
  | { readonly kind: "fault"; readonly message: string };
