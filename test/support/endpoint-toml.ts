/** Endpoint files as text, whole and valid, for tests that spoil one thing at a time. */

/** A registered function under a schema. */
export const BOOK_ROOM = `
[endpoint]
method = "BOOK"
path = "/room/{property_id}"
description = "Books a room for the named guest at the named property."
namespace = "reservations"
required_scopes = ["booking:room"]
errors = ["room_unavailable", "invalid_dates"]

[endpoint.semantic]
intent = "Reserve a room for the named guest at the named property."
actor = "agent"
outcome = "A confirmed reservation_id is returned for the guest."
capability = "transaction"
confidence = 0.85
impact = "irreversible"
is_idempotent = false

[endpoint.input_schema]
type = "object"
required = ["property_id", "guest_id"]
additionalProperties = false
[endpoint.input_schema.properties.property_id]
type = "string"
[endpoint.input_schema.properties.guest_id]
type = "string"
format = "uuid"

[endpoint.output_schema]
type = "object"
required = ["reservation_id"]
[endpoint.output_schema.properties.reservation_id]
type = "string"

[endpoint.handler]
type = "registered_function"
function = "endpoints.reservations.book_room"

[endpoint.deprecated]
deprecated_in = "2.1.0"
removed_in = "3.0.0"
successor = { method = "RESERVE", path = "/lodgings" }
`;

/** An external service under field lists. */
export const FETCH_ARTICLE = `
[endpoint]
method = "FETCH"
path = "/articles/{article_id}"
description = "Fetches an article by id."

[endpoint.semantic]
intent = "Retrieve the article with the given id."
actor = "agent"
outcome = "An article record is returned."
capability = "retrieval"
confidence = 1
impact = "informational"
is_idempotent = true

[[endpoint.input.required]]
name = "article_id"
type = "integer"
description = "The article identifier."

[[endpoint.input.optional]]
name = "since"
type = "string"
description = "Only later versions."
format = "date"

[[endpoint.output]]
name = "title"
type = "string"
description = "Article title."

[[endpoint.output]]
name = "tags"
type = "array"
description = "Article tags."
schema = { type = "array", items = { type = "string" } }

[endpoint.errors]
list = [
  "article_not_found",
  "upstream_timeout",
  "upstream_connection_error",
  "upstream_malformed_response",
  "upstream_authentication_failed",
  "upstream_error",
]

[endpoint.handler]
type = "external_service"
url = "https://\${API_HOST}/v1/articles/{article_id}"
method = "GET"
timeout_seconds = 1.5

[endpoint.handler.headers]
Authorization = "Bearer \${API_TOKEN}"

[endpoint.handler.query]
since = "from"

[endpoint.handler.output_transform]
title = "headline"

[endpoint.handler.error_map]
"404" = "article_not_found"
`;
