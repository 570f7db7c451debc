/** The endpoints of a deployment under test, which only differ in their paths. */
import { errorsOf } from "./handlers.ts";

/** The path of the nth endpoint; all have the same length, and so do the responses. */
export function orderPath(index: number): string {
  return `/orders/${String(index).padStart(5, "0")}`;
}

/** The name of the nth endpoint's tool. */
export function orderTool(index: number): string {
  return `create_orders_${String(index).padStart(5, "0")}`;
}

/** The text of the nth endpoint file. */
export function endpointFile(index: number, handler: string): string {
  return fileOf(orderPath(index), "orders:write", handler);
}

/** The path of an endpoint with a scope that no agent holds. */
export const LOCKED_PATH = "/orders/locked";

/** The path of an endpoint with a parameter. */
export function shopPath(shop: string): string {
  return `/shops/${shop}/orders`;
}

/** The texts of two more endpoint files, for other kinds of refusals. */
export function refusingFiles(handler: string): readonly string[] {
  const inShop = fileOf(shopPath("{shop}"), "orders:write", handler)
    .replace("required = [", 'required = ["shop", ')
    .replace("item = {", 'shop = { type = "string" }\nitem = {');
  return [fileOf(LOCKED_PATH, "orders:admin", handler), inShop];
}

function fileOf(path: string, scope: string, handler: string): string {
  return `[endpoint]
method = "CREATE"
path = "${path}"
description = "Places an order."
required_scopes = ["${scope}"]
errors = ${errorsOf(handler)}
[endpoint.semantic]
intent = "Place an order."
actor = "agent"
outcome = "The order is placed."
capability = "creation"
confidence = 0.9
impact = "reversible"
is_idempotent = false
[endpoint.input_schema]
type = "object"
required = ["item", "quantity", "price", "date", "express"]
additionalProperties = false
[endpoint.input_schema.properties]
item = { type = "string", minLength = 1, maxLength = 40 }
quantity = { type = "integer", minimum = 1 }
price = { type = "number" }
date = { type = "string", format = "date" }
express = { type = "boolean" }
[endpoint.output_schema]
type = "object"
required = ["order_id", "status"]
[endpoint.output_schema.properties]
order_id = { type = "string" }
status = { type = "string" }
total = { type = "number" }
[endpoint.handler]
${handler}
`;
}
